"""The largest card that can be imported: no command about it, and no reply, holds the event loop."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.card_parts import v3
from tests.cogs.played import open_played
from tests.discord_server import DiscordServer
from tests.slow_callbacks import SLOW_S, Watch, watch

__all__ = ["watch"]

ENTRIES = 3000
MOST_BYTES = 10 * 1024 * 1024


def huge() -> bytes:
    entries = [
        {
            "keys": [f"bridge {number}", *(f"river {number} {more}" for more in range(20))],
            "content": "@@depth 4\n@@role user\n" + "Water. " * 200,
            "insertion_order": number,
        }
        for number in range(ENTRIES)
    ]
    card = v3("Mira", scenario="She rows. " * 60_000, character_book={"entries": entries})
    raw = json.dumps(card).encode()
    assert 0.5 * MOST_BYTES < len(raw) < MOST_BYTES
    return raw


async def test_the_largest_card_never_holds_the_loop(
    discord_server: DiscordServer, tmp_path: Path, watch: Watch
) -> None:
    raw = await asyncio.to_thread(huge)
    async with open_played(discord_server, tmp_path) as played:
        watch.take()
        slow: dict[str, list[str]] = {}

        def took(what: str) -> None:
            if found := [str(one) for one in watch.take() if one.cpu >= SLOW_S]:
                slow[what] = found

        report = await played.ask("persona import", card=("m.json", raw))
        assert "3,000 lore entries" in report.content
        took("import")
        await played.moderator.autocomplete("persona show", played.channel, option="persona", value="M")
        took("complete")
        await played.ask("persona list")
        took("list")
        await played.ask("persona show", persona="Mira")
        took("show")
        await played.ask("scene start", name="Feast")
        await played.said(1)
        took("scene start")
        await played.member.say(played.channel, "Mira, is there a bridge 7?")
        await played.said(2)
        took("reply")
        await played.ask("lore list")
        took("lore list")
        asked = await played.moderator.slash("persona edit", played.channel, persona="Mira")
        await (await played.moderator.submit_modal(await asked.modal(), {"personality": "calm"})).answer()
        took("edit")
        await played.ask("persona history", persona="Mira")
        took("history")
        for kind, size in (("json", 1), ("png", 0), ("charx", 1)):
            exported = await played.ask("persona export", persona="Mira", format=kind)
            assert len(exported.attachments) == size, exported.content
            assert size or "`format:charx`" in exported.content
            took(f"export {kind}")
        shown = await played.ask("persona import", card=("m.json", raw))
        took("import again")
        await played.click(shown, "Keep both: Mira (2)")
        took("keep both")
        shown = await played.ask("persona delete", persona="Mira")
        await played.click(shown, "Delete")
        took("delete")
    assert not slow, json.dumps(slow, indent=1)
