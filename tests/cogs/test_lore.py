"""/lore as a moderator uses it, on the real engine."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.adapters.timed_patterns import TimedPatterns
from tests.card_parts import packed, png, text, v3
from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer

WORLD = {"entries": {"0": {"uid": 0, "key": ["ferry"], "content": "It never moors.", "comment": "Ferry"}}}


@pytest.fixture
async def played(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Played]:
    async with open_played(discord_server, tmp_path, patterns=TimedPatterns) as found:
        yield found


async def test_lore_is_added_listed_explained_and_told(played: Played) -> None:
    await played.troupe.personas.create(played.guild.id, name="Mira", greeting="Hop in.")
    await played.ask("scene start", name="Feast")
    added = await played.ask("lore add", text="It never moors.", keys="ferry, /bo+at/i", name="Ferry")
    assert "comes up with ferry, /bo+at/i" in added.content
    await played.ask("lore add", text="Salt is taxed.", constant=True)
    await played.ask(
        "lore add", text="Only here.", keys="feast", scope="scene", logic="and all", secondary="a, b"
    )
    await played.ask("lore add", text="Mira fears it.", keys="ferry", persona="Mira", position="at depth")
    listed = (await played.ask("lore list")).content.split("\n")
    assert listed[0] == "`1` **Ferry** · ferry, /bo+at/i · It never moors."
    assert listed[1] == "`2` **…** (constant) · Salt is taxed."
    assert listed[2].endswith("for one scene")
    assert listed[3].endswith("for Mira")
    await played.said(1)
    await played.member.say(played.channel, "Mira, where is the BOOAT? And the ferry?")
    await played.said(2)
    prompt = next(one for one in played.model.prompts if one.purpose == "reply")
    assert "Salt is taxed." in prompt.messages[0].content
    assert "- It never moors.\n- Mira fears it." in prompt.messages[-1].content
    explained = (await played.ask("lore explain")).content
    assert "If **Mira** answers now, 3 of 4 entries are told" in explained
    assert "✓ `2` Salt is taxed.: constant" in explained
    assert "✗ `3` feast" in explained


async def test_an_entry_is_changed_by_options_and_by_its_form(played: Played) -> None:
    await played.ask("lore add", text="It never moors.", keys="ferry")
    changed = await played.ask("lore edit", entry="1", chance=30, position="after", enabled=False)
    assert "(off, 30%, after)" in changed.content
    asked = await played.moderator.slash("lore edit", played.channel, entry="1")
    form = await asked.modal()
    assert {word: field.get("value") for word, field in form.fields.items()} == {
        "keys": "ferry",
        "text": "It never moors.",
        "secondary": None,
        "name": None,
    }
    done = await (
        await played.moderator.submit_modal(form, {"keys": "barge, /b,c/", "secondary": "rain"})
    ).answer()
    assert "barge, /b,c/" in done.content
    (entry,) = await played.troupe.lore.all(played.guild.id)
    assert (entry.entry.keys, entry.entry.secondary) == (("barge", "/b,c/"), ("rain",))
    assert (entry.entry.probability, entry.entry.content) == (30, "It never moors.")
    refused = await played.ask("lore add", text="x", keys="/(/")
    assert "broken" in refused.content
    assert "Give `keys`" in (await played.ask("lore add", text="x")).content


async def test_books_come_in_and_go_out(played: Played) -> None:
    raw = json.dumps(WORLD).encode()
    answer = await played.ask("lore import", file=("Eldoria.json", raw))
    assert "“Eldoria” is here, with 1 entry" in answer.content
    card = png(
        text(
            b"ccv3", packed(v3(character_book={"name": "Own", "entries": [{"keys": ["x"], "content": "y"}]}))
        )
    )
    await played.ask("persona import", card=("m.png", card))
    assert "for Mira" not in (await played.ask("lore list")).content
    assert "in the card" in (await played.ask("lore list")).content
    await played.ask("lore import", file=("m.png", card), scope="persona", persona="Mira")
    exported = await played.ask("lore export")
    book = json.loads(exported.attachments[0].content)
    assert book["spec"] == "lorebook_v3"
    assert [entry["content"] for entry in book["data"]["entries"]] == ["It never moors."]
    refused = await played.ask("persona import", card=("Eldoria.json", raw))
    assert "/lore import" in refused.content
    choices = await played.moderator.autocomplete("lore remove", played.channel, option="entry", value="book")
    assert [choice["value"] for choice in choices] == ["book:Eldoria", "book:Own"]
    question = await played.ask("lore remove", entry="book:Eldoria")
    assert "Remove “Eldoria” with 1 entry?" in question.content
    assert len(await played.troupe.lore.all(played.guild.id)) == 3  # nothing is gone before the answer
    assert "“Eldoria” is removed, with 1 entry" in (await played.click(question, "Remove")).content
    assert "No lore here" in (await played.ask("lore remove", entry="book:Eldoria")).content
    assert "is removed" in (await played.ask("lore remove", entry="Mira:1")).content
    assert "no such lore entry" in (await played.ask("lore remove", entry="Mira:1")).content


@pytest.mark.parametrize("command", ["lore add", "lore import", "lore remove", "lore list", "lore explain"])
async def test_a_plain_member_is_refused(played: Played, command: str) -> None:
    options = {
        "lore add": {"text": "x", "keys": "y"},
        "lore import": {"file": ("x.json", b"{}")},
        "lore remove": {"entry": "1"},
    }.get(command, {})
    asked = await played.member.slash(command, played.channel, ignore_defaults=True, options=options)
    assert "moderator" in (await asked.answer()).content
