"""A persona's picture lies at a permanent address: drawn, replaced when changed, and never in the way."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from bot.adapters.avatars import AvatarShelf, draw_picture, prepare_picture
from bot.client import TroupeClient
from bot.core.emotion import FLAT
from bot.core.types import Persona, Place
from bot.errors import UserFacing
from tests.connected import connected
from tests.discord_server import DiscordServer
from tests.fakes_troupe import FakeTroupe

EMOJIS = "/applications/{application_id}/emojis"
MIRA = Persona(id=7, space_id=1, name="Mira Vale", card={}, temperament=np.asarray(FLAT))


def picture(colour: str, size: tuple[int, int] = (300, 200), form: str = "PNG") -> bytes:
    target = io.BytesIO()
    Image.new("RGB", size, colour).save(target, form)
    return target.getvalue()


@pytest.fixture
async def client(discord_server: DiscordServer) -> AsyncIterator[TroupeClient]:
    async with connected(discord_server, FakeTroupe()) as client:
        yield client


async def test_a_drawn_picture_is_stored_once(discord_server: DiscordServer, client: TroupeClient) -> None:
    first = await client.pictures.ensure(MIRA)
    second = await client.pictures.ensure(MIRA)
    assert first is not None
    assert first == second
    assert "/emojis/" in first
    assert len(discord_server.requests_to("POST", EMOJIS)) == 1


async def test_after_a_restart_the_stored_picture_is_found(
    discord_server: DiscordServer, client: TroupeClient
) -> None:
    first = await client.pictures.ensure(MIRA)
    assert await AvatarShelf(client=client).ensure(MIRA) == first
    assert len(discord_server.requests_to("POST", EMOJIS)) == 1


async def test_a_changed_picture_replaces_the_old_one(
    discord_server: DiscordServer, client: TroupeClient
) -> None:
    first = await client.pictures.ensure(MIRA)
    other = await client.pictures.ensure(replace(MIRA, id=8, name="Bo"))
    changed = await client.pictures.ensure(replace(MIRA, avatar=picture("red")))
    assert changed not in (first, None)
    kept = {emoji.url for emoji in await client.fetch_application_emojis()}
    assert kept == {changed, other}


async def test_the_pictures_of_a_deleted_persona_go(client: TroupeClient) -> None:
    await client.pictures.ensure(MIRA)
    await client.pictures.forget(MIRA.id)
    assert await client.fetch_application_emojis() == []


async def test_words_of_a_deleted_persona_that_are_still_on_their_way_bring_no_picture_back(
    discord_server: DiscordServer, client: TroupeClient
) -> None:
    await client.pictures.ensure(MIRA)
    await client.pictures.forget(MIRA.id)
    assert await client.pictures.ensure(MIRA) is None
    assert await client.fetch_application_emojis() == []


async def test_when_discord_refuses_there_is_no_picture_and_no_storm(
    discord_server: DiscordServer, client: TroupeClient
) -> None:
    discord_server.fail_next("POST", r"/emojis$", status=403, code=50013)
    assert await client.pictures.ensure(MIRA) is None
    assert await client.pictures.ensure(MIRA) is None
    assert len(discord_server.requests_to("POST", EMOJIS)) == 1


async def test_a_persona_without_an_address_speaks_with_the_stored_picture(
    discord_server: DiscordServer, client: TroupeClient
) -> None:
    guild = discord_server.add_guild("Tavern")
    channel = discord_server.add_channel(guild, "inn")
    await client.messenger.speak(Place(channel.id, guild.id, "inn"), MIRA, "Hello", nonce="a")
    message = discord_server.messages(channel)[-1]
    assert message.avatar_url == await client.pictures.ensure(MIRA)


@pytest.mark.parametrize("name", ["Mira Vale", "Zoe", "木村", "Ωmega", "🦊", "-"])
def test_every_name_gives_a_small_square_picture(name: str) -> None:
    drawn = draw_picture(name)
    assert len(drawn) < 256 * 1024
    with Image.open(io.BytesIO(drawn)) as image:
        assert (image.format, image.size) == ("PNG", (128, 128))
        assert len(image.getcolors(maxcolors=70000) or []) > 1
    assert drawn == draw_picture(name)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_an_upload_becomes_a_small_square_png(form: str) -> None:
    prepared = await prepare_picture(picture("blue", form=form))
    with Image.open(io.BytesIO(prepared)) as image:
        assert (image.format, image.size) == ("PNG", (128, 128))


@pytest.mark.parametrize("raw", [b"", b"GIF89a", b"not a picture", picture("red")[:60]])
async def test_broken_uploads_are_refused_kindly(raw: bytes) -> None:
    with pytest.raises(UserFacing, match="PNG"):
        await prepare_picture(raw)
