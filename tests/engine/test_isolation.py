"""Memory stays where it was made: matrices of marker words over places and personas, read off prompts."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bot.core.trust import Channels, Link, NoChannels, Surroundings
from bot.core.types import Persona, Place
from tests.engine.stage import ALICE, BOB, TAVERN, Stage, open_stage
from tests.fakes import Prompt
from tests.fakes_index import FakeIndex

pytestmark = pytest.mark.usefixtures("hurried_indexer")

PLACES = (
    Place(id=500, guild_id=9, name="tavern"),
    Place(id=600, guild_id=9, name="staff-only"),
    Place(id=650, guild_id=9, name="corner of the tavern", parent_id=500),
    Place(id=700, guild_id=10, name="tavern"),
    Place(id=800, guild_id=0, name="direct messages"),
)
"""A public channel, a private one, a thread, another guild's of the same name, a direct message."""
WORDS = ("amberwick", "bluethorn", "copperlane", "duskmoor", "emberfall")
QUESTION = "Mira, what is the secret word of the vault?"
LATER = ("at once", "after a restart", "after a rename", "after a rebuilt index")


def notes(prompt: Prompt) -> str:
    """Notes and facts that repeat the marker words of the turns to be noted."""
    said = re.findall(r"secret word of the vault is (\w+)", prompt.text)
    line = {"section": "events", "text": f"The vault: {' '.join(said)}.", "turns": [1]}
    fact = {"about": "vault", "text": f"The word is {' '.join(said)}.", "turns": [1], "when": ""}
    return json.dumps({"keep": [], "lines": [line], "facts": [fact], "triggers": [], "emotions": []})


SCRIPT = {"memory": notes, "reply": lambda prompt: "Hush, somebody may be listening to the two of us."}


async def fill(stage: Stage, place: Place, word: str) -> None:
    """The word is said, then so much else that only notes and recall still know it."""
    stage.say(f"The secret word of the vault is {word}.", place=place)
    for number in range(30):
        stage.say(
            f"Song {number} about nothing much, and a few more words to fill the evening.",
            by=BOB,
            place=place,
        )
    await stage.quiet(place)


async def tell_all(stage: Stage) -> None:
    """In every place a scene in which its own word is said; each space has a Mira of its own."""
    cast: dict[int, Persona] = {}
    for place, word in zip(PLACES, WORDS, strict=True):
        if place.space_id not in cast:
            cast[place.space_id] = await stage.troupe.personas.create(place.space_id, name="Mira", by=ALICE)
        await stage.scene(cast[place.space_id], place=place)
        await fill(stage, place, word)


async def noted(stage: Stage) -> None:
    async with asyncio.timeout(20):
        while stage.troupe.summariser.waiting >= 10 or stage.troupe.summariser.busy:
            await asyncio.sleep(0.01)
        while await stage.store.memories.count_to_index(stage.encoder.id):
            await asyncio.sleep(0.01)


async def asked(stage: Stage, place: Place, question: str = QUESTION) -> str:
    """The prompt of the answer to a question that every place could answer."""
    stage.say(question, by=ALICE, place=place, mention=True)
    await stage.quiet(place)
    return stage.model.of("reply")[-1].text


async def again(stage: Stage, how: str) -> tuple[Place, ...]:
    """What happens between the telling and the asking; the places as they are called then."""
    if how == "after a rename":
        return tuple(replace(place, name="the same new name") for place in PLACES)
    if how == "after a rebuilt index":
        await stage.index.reset()
        await stage.store.memories.restart_index()
        stage.troupe.indexer.wake()
    return PLACES


async def staged(
    folder: Path,
    how: str,
    tell: Callable[[Stage], Awaitable[None]],
    ask: Callable[[Stage, tuple[Place, ...]], Awaitable[None]],
    channels: Channels | None = None,
) -> None:
    parts: dict[str, Any] = {
        "index": FakeIndex(),
        "context_tokens": 2048,
        "channels": channels or NoChannels(),
    }
    async with open_stage(folder, SCRIPT, **parts) as stage:
        await tell(stage)
        await noted(stage)
        if how != "after a restart":
            places = await again(stage, how)
            await noted(stage)
            await ask(stage, places)
    if how == "after a restart":
        async with open_stage(folder, SCRIPT, **parts) as stage:
            await ask(stage, PLACES)


@pytest.mark.parametrize("how", LATER)
async def test_no_place_learns_what_was_said_in_another(tmp_path: Path, how: str) -> None:
    async def ask(stage: Stage, places: tuple[Place, ...]) -> None:
        for place, own in zip(places, WORDS, strict=True):
            prompt = await asked(stage, place)
            assert {word: word in prompt for word in WORDS} == {word: word == own for word in WORDS}
            found = await stage.troupe.memories.search(place, "secret word vault", limit=50)
            assert any(own in one.memory.text for one in found)
            assert not [one for one in found for word in WORDS if word in one.memory.text and word != own]

    await staged(tmp_path, how, tell_all, ask)


@dataclass
class SomeChannels:
    """Channels of which those in `private` are not for everyone. Of direct messages nothing is known."""

    private: set[int]

    def about(self, place: Place) -> Surroundings:
        return Surroundings(known=bool(place.guild_id), for_everyone=place.id not in self.private)


LINKS = ((600, 500), (650, 500), (500, 600), (500, 700), (500, 800), (800, 500), (700, 500), (700, 650))
"""(place that is fed, source): some that a moderator may set, some that no command sets."""
FED = {500: {"amberwick"}, 600: {"bluethorn", "amberwick"}, 650: {"copperlane", "amberwick"}}


@pytest.mark.parametrize("how", LATER)
async def test_linked_channels_feed_each_other_but_no_private_one_a_public_one_or_another_server(
    tmp_path: Path, how: str
) -> None:
    async def tell(stage: Stage) -> None:
        await tell_all(stage)
        for place_id, source_id in LINKS:
            await stage.store.links.add(Link(place_id, source_id, space_id=9))

    async def ask(stage: Stage, places: tuple[Place, ...]) -> None:
        for place, own in zip(places, WORDS, strict=True):
            prompt = await asked(stage, place)
            assert {word for word in WORDS if word in prompt} == FED.get(place.id, {own}), place

    await staged(tmp_path, how, tell, ask, SomeChannels(private={600}))


@pytest.mark.parametrize("how", LATER)
async def test_no_persona_knows_what_it_did_not_witness(tmp_path: Path, how: str) -> None:
    names = ("Mira", "Odo", "Pip", "Quill", "Rook")

    async def tell(stage: Stage) -> None:
        people = [await stage.troupe.personas.create(9, name=name, by=ALICE) for name in names]
        await stage.scene(people[0])
        for number, (persona, word) in enumerate(zip(people, WORDS, strict=True)):
            if number:
                await stage.troupe.scenes.cast_add(TAVERN, persona.id)
            await fill(stage, TAVERN, word)
            await noted(stage)
            await stage.troupe.scenes.cast_remove(TAVERN, persona.id)

    async def ask(stage: Stage, places: tuple[Place, ...]) -> None:
        place = places[0]
        for name, own in zip(names, WORDS, strict=True):
            persona = await stage.troupe.personas.find(9, name)
            await stage.troupe.scenes.cast_add(place, persona.id)
            prompt = await asked(stage, place, QUESTION.replace("Mira", name))
            assert {word: word in prompt for word in WORDS} == {word: word == own for word in WORDS}
            await stage.troupe.scenes.cast_remove(place, persona.id)

    await staged(tmp_path, how, tell, ask)


async def test_stories_of_one_place_stay_apart(tmp_path: Path) -> None:
    async with open_stage(tmp_path, SCRIPT, context_tokens=2048) as stage:  # type: ignore[arg-type]
        mira = await stage.persona()
        for story, word in zip(("One", "Two", "Three"), WORDS, strict=False):
            after = stage.messenger.next_id()
            await stage.troupe.scenes.start(TAVERN, name=story, persona_id=mira.id, story=story, after=after)
            await fill(stage, TAVERN, word)
            await noted(stage)
            prompt = await asked(stage, TAVERN)
            assert [other for other in WORDS if other in prompt] == [word]
