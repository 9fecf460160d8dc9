"""Property: no sequence of commands by a plain member changes a row that moderators own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.adapters.sql_store.tables import metadata
from cogs.permissions import MENU_RIGHTS, RIGHTS
from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer, ScriptError
from tests.discord_server.models import Message
from tests.discord_server.options import find_leaf
from tests.records import sql

OWNED = (
    "personas",
    "persona_revisions",
    "options",
    "stories",
    "scenes",
    "cast_members",
    "lore_entries",
    "place_links",
    "moderator_actions",
)
"""Tables in which every row is a moderator's."""
PINNED = "SELECT id, text FROM memories WHERE kind IN ('pinned', 'canon') ORDER BY id"
WORDS = ("Mira", "Feast", "reply_mode", "asleep", "always", "1", "all", "book:Ferries", "A lie.", "off")


@dataclass(frozen=True)
class Step:
    """One thing that a member does: a command with these words for its options, then a press on a button."""

    name: str
    words: tuple[str, ...]
    press: int
    flags: bool


STEPS = st.builds(
    Step,
    name=st.sampled_from([*RIGHTS, *MENU_RIGHTS]),
    words=st.tuples(*[st.sampled_from(WORDS)] * 4),
    press=st.integers(0, 4),
    flags=st.booleans(),
)


@pytest.fixture
async def played(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Played]:
    """A guild in which moderators own one of everything, and a member who has said something."""
    async with open_played(discord_server, tmp_path, {"reply": ["The bridge is closed."]}) as found:
        mira = await found.troupe.personas.create(found.guild.id, name="Mira", greeting="Come in.")
        await found.troupe.personas.edit(mira.id, description="An innkeeper.")
        await found.troupe.pasts.remember(mira, "I was born at sea.")
        await found.ask("scene start", name="Feast")
        await found.ask("lore add", keys="ferry", text="It never moors.")
        await found.ask("settings set", key="reply_mode", value="named")
        await found.member.say(found.channel, "Mira, what of the bridge?")
        await found.said(2)
        yield found


async def rows(played: Played) -> dict[str, list[str]]:
    tables = [table.name for table in metadata.sorted_tables if table.name in OWNED]
    assert len(tables) == len(OWNED)
    found = {name: await sql(played.store, f'SELECT * FROM "{name}"') for name in tables}
    found["pinned"] = await sql(played.store, PINNED)
    return {name: [str(row) for row in here] for name, here in found.items()}


async def play(played: Played, steps: list[Step]) -> None:
    for step in steps:
        await act(played, step)


async def act(played: Played, step: Step) -> None:
    member = played.member
    try:
        if step.name in MENU_RIGHTS:
            spoken = [one for one in played.server.messages(played.channel) if one.webhook_id]
            asked = await member.context_menu(step.name, spoken[step.press % len(spoken)])
        else:
            options = filled(played, step)
            asked = await member.slash(step.name, played.channel, ignore_defaults=True, options=options)
        await asked.acked()
        if asked.opened is not None:
            fields = {"name": step.words[0], "text": step.words[1]}
            known = {one for one in fields if one in str(asked.opened)}
            asked = await member.submit_modal(asked, {one: fields[one] for one in known})
        answer = await asked.answer()
        await press(played, answer, step)
    except ScriptError:
        return  # Discord itself would not let the member do that


async def press(played: Played, answer: Message, step: Step) -> None:
    parts = [part for row in answer.components for part in row.get("components", [])]
    if not parts or "forget" in step.name:
        return
    part = parts[step.press % len(parts)]
    if part["type"] == 2:
        await (await played.member.click(answer, part.get("label") or part["custom_id"])).acked()
    else:
        await (await played.member.select(answer, part["placeholder"], part["options"][0]["value"])).acked()


def filled(played: Played, step: Step) -> dict[str, Any]:
    leaf = find_leaf(played.server, played.guild, step.name)[2]
    values: dict[str, Any] = {}
    for number, option in enumerate(leaf):
        if option.get("required") or step.flags:
            values[option["name"]] = value(played, option, step.words[number % len(step.words)])
    return values


def value(played: Played, option: dict[str, Any], word: str) -> Any:
    if option.get("choices"):
        return option["choices"][0]["value"]
    kinds = {3: word, 4: 1, 5: True, 6: played.member, 7: played.channel, 10: 1.0, 11: ("a.json", b"{}")}
    return kinds[option["type"]]


async def test_no_sequence_of_a_members_commands_changes_what_moderators_own(played: Played) -> None:
    loop = asyncio.get_running_loop()
    before = await rows(played)

    def now(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(30)

    @settings(
        max_examples=20,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    @given(steps=st.lists(STEPS, min_size=1, max_size=6))
    def nothing_changes(steps: list[Step]) -> None:
        now(play(played, steps))
        assert now(rows(played)) == before

    await asyncio.to_thread(nothing_changes)
