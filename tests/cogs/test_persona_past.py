"""/persona remember and memories, on the real engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer

BANK = ("past.md", b"- The ferry burned.\n- The mill was sold.\n- the ferry BURNED.\n")


@pytest.fixture
async def played(discord_server: DiscordServer, tmp_path: Path) -> AsyncIterator[Played]:
    async with open_played(discord_server, tmp_path) as found:
        yield found


async def test_a_past_is_given_listed_searched_taken_along_and_removed(played: Played) -> None:
    await played.troupe.personas.create(played.guild.id, name="Mira")
    empty = await played.ask("persona memories", persona="Mira")
    assert "no past yet" in empty.content
    given = await played.ask("persona remember", persona="Mira", file=BANK)
    assert "2 new memories" in given.content
    assert "1 repeats were merged" in given.content
    listed = (await played.ask("persona memories", persona="mira")).content.split("\n")
    assert listed[0].endswith("2 memories of the past")
    assert listed[1].endswith("The ferry burned.")
    found = await played.ask("persona memories", persona="Mira", query="mill")
    number = found.content.split("`")[1]
    exported = (await played.ask("persona export", persona="Mira", format="png")).attachments[0]
    await played.ask("persona memories", persona="Mira", forget=number)
    assert "mill" not in (await played.ask("persona memories", persona="Mira")).content
    assert "no such memory" in (await played.ask("persona memories", persona="Mira", forget=number)).content
    assert "Give the number" in (await played.ask("persona memories", persona="Mira", forget="x")).content
    asked = await played.ask("persona import", card=("again.png", exported.content))
    done = await played.click(asked, "Keep both: Mira (2)")
    assert "2 memories of its past" in done.content
    assert "mill" in (await played.ask("persona memories", persona="Mira (2)")).content
    nothing = await played.ask("persona memories", persona="Mira (2)", query="zebra")
    assert "Nothing in the past" in nothing.content
    question = await played.ask("persona memories", persona="Mira (2)", forget="all")
    assert "Remove 2 memories" in question.content
    assert "mill" in (await played.ask("persona memories", persona="Mira (2)")).content  # not gone yet
    assert "has forgotten 2 memories" in (await played.click(question, "Remove")).content
    assert "no past yet" in (await played.ask("persona memories", persona="Mira (2)")).content


async def test_broken_lines_of_a_file_are_named(played: Played) -> None:
    await played.troupe.personas.create(played.guild.id, name="Mira")
    bank = b'{"text": "The ferry burned."}\n{"text": "The mi\n{"text": "Bob came."}\n'
    told = await played.ask("persona remember", persona="Mira", file=("past.jsonl", bank))
    assert "2 new memories" in told.content
    assert "no JSON and were left out: 2." in told.content


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (("x.md", b"\xff\xfe\xff"), "UTF-8"),
        (("x.md", b"# only a heading"), "no memories"),
        (("x.md", b"- x\n" * 5001), "5,000"),
    ],
)
async def test_a_file_without_memories_is_refused(
    played: Played, file: tuple[str, bytes], words: str
) -> None:
    await played.troupe.personas.create(played.guild.id, name="Mira")
    assert words in (await played.ask("persona remember", persona="Mira", file=file)).content
