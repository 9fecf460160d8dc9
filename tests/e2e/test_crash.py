"""kill -9 in the middle of 50 turns: every turn is kept, every question answered once, no reply doubled."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from tests.discord_server import Channel, Message
from tests.e2e.bot_process import Table, asked, echo, eventually
from tests.model_server import Behaviour, RecordedRequest, Say

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

TURNS = 50
SILENT = 5
"""Every fifth turn asks nobody."""
DOWN = 2
"""Turns that are said between a kill and the next start."""


class Crashes:
    """Ways to kill the bot at a moment that matters; each is called right after a message was said."""

    def __init__(self, table: Table, channel: Channel) -> None:
        self._table = table
        self._stage = table.stage
        self._channel = channel

    async def as_soon_as_it_is_heard(self, said: Message) -> None:
        """The event is on the wire; whether it is stored yet nobody knows."""
        await self._stage.discord.gateway.flushed()
        await self._stage.bot.kill()

    async def while_the_model_writes(self, said: Message) -> None:
        """The model has begun to answer and is slow."""
        await self._stage.model.wait_until(lambda _: self._table.prompts(said.content), 20)
        await self._stage.bot.kill()
        assert not self._answers(said)

    async def while_the_reply_is_on_its_way(self, said: Message) -> None:
        """Discord has the request, but the message appears only when the bot is dead."""
        fault = self._stage.discord.slow_next("POST", "/webhooks/", 0.7)
        await eventually(lambda: fault.hits, "the reply is sent")
        await self._stage.bot.kill()
        assert not self._answers(said)
        await eventually(lambda: self._answers(said), "the reply arrives after all")

    async def before_it_knows_that_the_reply_arrived(self, said: Message) -> None:
        """The message is in the channel, Discord's answer is not with the bot yet."""
        self._stage.discord.slow_next("POST", "/webhooks/", 5.0, when="after")
        await self._stage.discord.until(lambda: self._answers(said), 20, "the reply")
        await self._stage.bot.kill()

    async def in_silence(self, said: Message) -> None:
        """Everything is answered."""
        await self._stage.discord.until(lambda: self._answers(said), 20, "the reply")
        await self._stage.bot.kill()

    def _answers(self, said: Message) -> list[Message]:
        return [one for one in self._table.spoken(self._channel) if said.content in one.content]


async def test_kill_9_loses_no_turn_and_doubles_no_answer(table: Table) -> None:
    inn = table.channel()
    members = [table.member(name) for name in ("Anna", "Ben", "Cleo")]
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    crashes = Crashes(table, inn)
    plan: dict[int, Callable[[Message], Awaitable[None]]] = {
        6: crashes.as_soon_as_it_is_heard,
        16: crashes.while_the_model_writes,
        26: crashes.while_the_reply_is_on_its_way,
        36: crashes.before_it_knows_that_the_reply_arrived,
        46: crashes.in_silence,
    }
    slow = 16
    table.stage.model.set_script("reply", lambda request: _stuck(request, f"#{slow}!"))
    said: dict[int, Message] = {}
    start_at = 0
    for number in range(1, TURNS + 1):
        silent = number % SILENT == 0
        if number in plan and number > slow:  # so that the reply that is hit is the one to this turn
            await _until_answered(table, inn, said)
        text = f"I only count #{number}." if silent else f"Mira, #{number}!"
        message = said[number] = await members[number % 3].say(inn, text)
        if number in plan:
            await plan[number](message)
            table.stage.model.set_script("reply", echo)
            start_at = number + DOWN
        elif number == start_at:
            await table.stage.up(connected=False)
        elif number % 3 == 1 and table.stage.bot.running and not silent:
            await table.reply_to(message, "Mira")
            if number < slow:
                table.stage.model.set_script("reply", lambda request: _stuck(request, f"#{slow}!"))
    await _until_answered(table, inn, said)
    await table.talk(members[0], inn, "Mira, #51!", "Mira")
    assert _answered(table, inn) == dict.fromkeys([*_questions(said), 51], 1)
    open_rows = "SELECT count(*) FROM outbox WHERE closed_at IS NULL"
    await eventually(lambda: table.stage.stored(open_rows) == [(0,)], "the last reply is noted as sent")
    texts = [one.content for one in table.spoken(inn)]
    assert len(texts) == len(set(texts))
    stored = table.stage.stored(
        "SELECT message_id, text FROM turns JOIN turn_messages ON turns.id = turn_id "
        "WHERE place_id = ? AND persona_id IS NULL AND text NOT LIKE '%#51!' ORDER BY message_id",
        inn.id,
    )
    assert stored == [(message.id, message.content) for message in said.values()]
    replies = table.stage.stored(
        "SELECT message_id FROM turns JOIN turn_messages ON turns.id = turn_id "
        "WHERE place_id = ? AND persona_id IS NOT NULL ORDER BY message_id",
        inn.id,
    )
    assert [identifier for (identifier,) in replies] == [one.id for one in table.spoken(inn)]


def _stuck(request: RecordedRequest, word: str) -> Behaviour:
    """Answers as usual, but gets stuck in the middle of the answer to one message."""
    if any(word in text for text in asked(request)):
        return Say("Let me think about …", gate=asyncio.Event())
    return echo(request)


def _questions(said: dict[int, Message]) -> list[int]:
    return [number for number in said if number % SILENT]


async def _until_answered(table: Table, channel: Channel, said: dict[int, Message]) -> None:
    wanted = set(_questions(said))
    await table.stage.discord.until(
        lambda: wanted <= _answered(table, channel).keys(), 40, "an answer to every question"
    )


def _answered(table: Table, channel: Channel) -> Counter[int]:
    """How often each number was answered in the channel."""
    found = [re.findall(r"#(\d+)", one.content) for one in table.spoken(channel)]
    return Counter(int(number) for numbers in found for number in numbers)
