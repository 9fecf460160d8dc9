"""What personas say in the terminal is printed once, also when it was shown while it came."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import numpy as np
import pytest

from bot.console_messenger import ConsoleMessenger, MessageIds
from bot.core.types import OutboxRow, Persona, Place
from bot.terminal import Screen

PLACE = Place(id=1, guild_id=0, name="console")
MIRA = Persona(id=5, space_id=1, name="Mira", card={}, temperament=np.ones(8, dtype=np.float32))
NOW = datetime(2026, 8, 1, tzinfo=UTC)


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


def messenger(out: io.StringIO, *, interactive: bool = True) -> ConsoleMessenger:
    return ConsoleMessenger(screen=Screen(out=out, interactive=interactive), ids=MessageIds(now=lambda: NOW))


def streamed(mouth: ConsoleMessenger, *pieces: str) -> None:
    for piece in pieces:
        mouth.stream(PLACE.id, "Mira", piece)


async def test_a_streamed_reply_is_printed_once(out: io.StringIO) -> None:
    mouth = messenger(out)
    streamed(mouth, "Sit ", "down.")
    await mouth.speak(PLACE, MIRA, "Sit down.", nonce="1")
    assert out.getvalue() == "Mira: Sit down.\n"


async def test_the_rest_of_a_streamed_reply_follows(out: io.StringIO) -> None:
    mouth = messenger(out)
    streamed(mouth, "Sit")
    await mouth.speak(PLACE, MIRA, "Sit down.", nonce="1")
    assert out.getvalue() == "Mira: Sit down.\n"


async def test_a_reply_that_was_changed_afterwards_is_printed_as_it_counts(out: io.StringIO) -> None:
    mouth = messenger(out)
    streamed(mouth, "I am an AI")
    await mouth.speak(PLACE, MIRA, "Sit down.", nonce="1")
    assert out.getvalue().splitlines() == ["Mira: I am an AI", "Mira: Sit down."]


async def test_parts_of_one_streamed_reply_are_printed_once(out: io.StringIO) -> None:
    mouth = messenger(out)
    streamed(mouth, "One. ", "Two.")
    await mouth.speak(PLACE, MIRA, "One.", nonce="1")
    await mouth.speak(PLACE, MIRA, "Two.", nonce="2")
    assert out.getvalue() == "Mira: One. Two.\n"


async def test_a_script_sees_whole_replies_only(out: io.StringIO) -> None:
    mouth = messenger(out, interactive=False)
    streamed(mouth, "Sit ")
    assert out.getvalue() == ""
    await mouth.speak(PLACE, MIRA, "Sit down.", nonce="1")
    await mouth.notice(PLACE, "The model is busy.")
    assert out.getvalue() == "Mira: Sit down.\n· The model is busy.\n"


async def test_ids_grow_like_discords() -> None:
    mouth = messenger(io.StringIO())
    first = await mouth.speak(PLACE, MIRA, "a", nonce="1")
    second = await mouth.notice(PLACE, "b")
    assert second == first + 1
    assert first >> 22 == int((NOW - datetime(2015, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


async def test_spoke_tells_whether_something_was_printed(out: io.StringIO) -> None:
    mouth = messenger(out)
    assert not await mouth.spoke(within=0)
    await mouth.notice(PLACE, "x")
    assert await mouth.spoke(within=5)
    assert not await mouth.spoke(within=0)


async def test_nothing_was_said_while_away(out: io.StringIO) -> None:
    mouth = messenger(out)
    row = OutboxRow(1, 2, PLACE.id, 0, "text", "Mira", 5, "n", NOW)
    assert [event async for event in mouth.history(PLACE, after=0)] == []
    assert await mouth.find_spoken(row, PLACE) is None
    await mouth.typing(PLACE)
    assert out.getvalue() == ""
