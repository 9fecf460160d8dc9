"""Links between channels: what they let through, what ends them, and that presence still holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.core.trust import Link
from bot.core.types import Place
from bot.errors import UserFacing
from tests.engine.stage import ALICE, BOB, CELLAR, TAVERN, SomeChannels, Stage, open_stage

pytestmark = pytest.mark.usefixtures("hurried_indexer")

ELSEWHERE = Place(id=700, guild_id=10, name="elsewhere")


async def played(stage: Stage) -> None:
    """Mira in both, Odo only in the cellar; the word is said in the tavern."""
    mira, odo = await stage.persona("Mira"), await stage.persona("Odo")
    await stage.scene(mira, place=TAVERN)
    await stage.scene(mira, odo, place=CELLAR)
    stage.say("The secret word of the vault is amberwick.", place=TAVERN)
    await stage.quiet(TAVERN)


async def knows(stage: Stage, name: str = "Mira", place: Place = CELLAR) -> bool:
    stage.say(f"{name}, what is the secret word of the vault?", by=BOB, place=place)
    await stage.quiet(place)
    return "amberwick" in stage.model.of("reply")[-1].text


async def test_a_link_lets_memories_through_one_way_until_it_is_taken_away(tmp_path: Path) -> None:
    async with open_stage(tmp_path, channels=SomeChannels()) as stage:
        await played(stage)
        sharing = stage.troupe.trust.sharing
        assert not await knows(stage)
        await sharing.share(CELLAR, TAVERN.id, by=ALICE)
        assert await knows(stage)
        assert [(one.source.id, one.allowed) for one in await sharing.around(CELLAR)] == [(TAVERN.id, True)]
        assert [one.place.id for one in await sharing.around(TAVERN)] == [CELLAR.id]
        await sharing.unshare(CELLAR, TAVERN.id)
        assert await sharing.around(CELLAR) == []
        assert await sharing.scopes(CELLAR.id, (1,)) == []


async def test_a_persona_still_knows_only_what_it_witnessed(tmp_path: Path) -> None:
    async with open_stage(tmp_path, channels=SomeChannels()) as stage:
        await played(stage)
        await stage.troupe.trust.sharing.share(CELLAR, TAVERN.id, by=ALICE)
        assert not await knows(stage, "Odo")
        assert await knows(stage, "Mira")


async def test_a_source_that_becomes_private_feeds_the_public_channel_no_longer(tmp_path: Path) -> None:
    channels = SomeChannels()
    async with open_stage(tmp_path, channels=channels) as stage:
        await played(stage)
        await stage.troupe.trust.sharing.share(CELLAR, TAVERN.id, by=ALICE)
        channels.private = {TAVERN.id}
        assert not await knows(stage)
        (feed,) = await stage.troupe.trust.sharing.around(CELLAR)
        assert not feed.allowed
        channels.private = {TAVERN.id, CELLAR.id}
        assert await knows(stage)


@pytest.mark.parametrize("unknown", [TAVERN.id, CELLAR.id])
async def test_what_is_not_known_of_a_channel_is_taken_with_care(tmp_path: Path, unknown: int) -> None:
    channels = SomeChannels()
    async with open_stage(tmp_path, channels=channels) as stage:
        await played(stage)
        await stage.troupe.trust.sharing.share(CELLAR, TAVERN.id, by=ALICE)
        channels.unknown = {unknown}
        assert not await knows(stage)


async def test_what_cannot_be_shared_is_refused_in_words(tmp_path: Path) -> None:
    async with open_stage(tmp_path, channels=SomeChannels(private={TAVERN.id})) as stage:
        await played(stage)
        sharing = stage.troupe.trust.sharing
        await stage.scene(await stage.troupe.personas.create(10, name="Mira"), place=ELSEWHERE)
        for source_id, words in ((TAVERN.id, "not visible to everyone"), (CELLAR.id, "own memories")):
            with pytest.raises(UserFacing, match=words):
                await sharing.share(CELLAR, source_id, by=ALICE)
        for source_id in (ELSEWHERE.id, 4242):
            with pytest.raises(UserFacing, match="ever played"):
                await sharing.share(CELLAR, source_id, by=ALICE)
        await sharing.share(TAVERN, CELLAR.id, by=ALICE)
        with pytest.raises(UserFacing, match="already"):
            await sharing.share(TAVERN, CELLAR.id, by=ALICE)
        with pytest.raises(UserFacing, match="does not feed"):
            await sharing.unshare(CELLAR, TAVERN.id)


async def test_links_go_with_their_channels_and_their_server_and_lose_a_forgotten_moderator(
    tmp_path: Path,
) -> None:
    async with open_stage(tmp_path, channels=SomeChannels()) as stage:
        await played(stage)
        links = stage.store.links
        await stage.troupe.trust.sharing.share(CELLAR, TAVERN.id, by=ALICE)
        await stage.troupe.privacy.forget(ALICE)
        (link,) = await links.of_space(TAVERN.space_id)
        assert link.created_by == 0
        await stage.troupe.privacy.forget_place(TAVERN)
        assert await links.of_space(TAVERN.space_id) == []
        await stage.scene(await stage.persona("Pip"), place=TAVERN)
        await links.add(Link(CELLAR.id, TAVERN.id, TAVERN.space_id))
        await stage.troupe.privacy.purge(TAVERN.space_id)
        assert await links.of_space(TAVERN.space_id) == []
