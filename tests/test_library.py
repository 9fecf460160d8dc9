"""The shelf of ready personas, and adding from it."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.core.card_file import lore_entries, report_of
from bot.core.cards import greetings, temperament
from bot.core.lore_entries import read_entry
from bot.library import ready_personas
from tests.card_parts import charx, packed, png, text, v1, v3
from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer


@pytest.fixture
async def played(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Played]:
    async with open_played(discord_server, tmp_path) as found:
        yield found


async def test_six_ready_personas_are_whole_and_of_several_languages() -> None:
    ready = await ready_personas()
    assert len(ready) >= 6
    assert ready[0].name == "Mira"
    assert len({tuple(temperament(one.card).tolist()) for one in ready}) == len(ready)
    for one in ready:
        report = report_of(one.card, "JSON")
        assert report.unknown_macros == ()
        assert 3 <= report.lore_entries <= 8
        assert all(read_entry(raw).keys and read_entry(raw).content for raw in lore_entries(one.card))
        assert len(greetings(one.card)) >= 2
        assert one.tagline
    everything = " ".join(one.card["first_mes"] for one in ready)
    for words in ("Sit, before", "Bonsoir", "어서 오세요", "Jamu, jamu", "Alto ahí"):
        assert words in everything


async def test_files_that_a_self_hoster_adds_are_on_the_shelf(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(v1(name="Zoe")))
    (tmp_path / "b.PNG").write_bytes(png(text(b"chara", packed(v3("Abe")))))
    (tmp_path / "c.charx").write_bytes(charx(v3("Cleo")))
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "notes.txt").write_text("not for the shelf")
    (tmp_path / "folder.json").mkdir()
    with caplog.at_level(logging.WARNING):
        ready = await ready_personas(tmp_path)
    assert [one.name for one in ready] == ["Abe", "Cleo", "Zoe"]
    assert ready[0].avatar is not None
    assert [record.getMessage().split()[0] for record in caplog.records] == ["broken.json"]
    assert await ready_personas(tmp_path / "nowhere") == ()


async def test_the_library_adds_a_persona_in_two_clicks(played: Played) -> None:
    shelf = await played.ask("persona library")
    assert "**한서린**" in shelf.content
    added = await (await played.moderator.select(shelf, "Add …", "Mira")).answer()
    assert "**Mira** is here" in added.content
    again = await (await played.moderator.select(added, "Add …", "Mira")).answer()
    assert "already" in again.content
    await (await played.moderator.select(again, "Add …", "Sari")).answer()
    personas = await played.troupe.personas.all(played.guild.id)
    assert [one.name for one in personas] == ["Mira", "Sari"]
    assert personas[0].created_by == played.moderator.id
    refused = await played.member.slash("persona library", played.channel, ignore_defaults=True)
    assert "moderator" in (await refused.answer()).content
