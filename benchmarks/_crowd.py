"""People who keep talking on the loopback Discord, whatever happens to the bot."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from tests.discord_server import Channel, Message, ScriptedUser
from tests.e2e.bot_process import Table, asked

ASKING: Final = 4
"""Every fourth message addresses the persona."""
_NUMBER: Final = re.compile(r"#(\d+)")
_WORDS: Final = ("the bell", "a lantern", "our boat", "the old gate", "her letter", "no rain", "this bread")


@dataclass
class Crowd:
    """Members who talk in the channels of a table by turns, each message with a number of its own."""

    table: Table
    channels: list[Channel]
    members: list[ScriptedUser]
    chance: random.Random
    pause: float = 0.15
    """Seconds between two messages, about."""
    said: dict[int, Message] = field(default_factory=dict)
    asked_at: dict[int, float] = field(default_factory=dict)
    """When each question was asked (`time.monotonic`)."""
    _task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Talk from now on."""
        self._task = asyncio.create_task(self._talk(), name="crowd")

    async def hush(self) -> None:
        """Finish what is being said, and say no more."""
        if self._task is not None:
            task, self._task = self._task, None
            await task

    async def _talk(self) -> None:
        while self._task is not None:
            number = len(self.said) + 1
            asks = number % ASKING == 0
            words = f"#{number} {self.chance.choice(_WORDS)} {self.chance.choice(_WORDS)}"
            text = f"Mira, {words}?" if asks else f"I see {words}."
            channel = self.channels[self.chance.randrange(len(self.channels))]
            member = self.members[(number // ASKING if asks else number) % len(self.members)]
            self.said[number] = await member.say(channel, text)
            if asks:
                self.asked_at[number] = time.monotonic()
            await asyncio.sleep(self.pause * self.chance.uniform(0.3, 1.7))

    # ------------------------------------------------------------ looking
    def answered(self) -> Counter[int]:
        """How often each question was answered: a reply names what it answers."""
        texts = (one.content for channel in self.channels for one in self.table.spoken(channel))
        return Counter(int(number) for text in texts for number in _NUMBER.findall(text))

    async def all_answered(self, seconds: float) -> None:
        """Wait for an answer to every question. TimeoutError when one does not come."""
        deadline = time.monotonic() + seconds
        while missing := self.asked_at.keys() - self.answered().keys():
            if time.monotonic() > deadline:
                raise TimeoutError(f"no answer to {sorted(missing)[:10]} of {len(self.asked_at)} questions")
            await asyncio.sleep(0.1)

    def notices(self) -> Counter[str]:
        """What the bot said in its own name in the channels, and how often."""
        own = self.table.stage.discord.bot_user_id
        shown = (one for channel in self.channels for one in self.table.stage.discord.messages(channel))
        return Counter(one.content for one in shown if one.author.id == own and not one.ephemeral)

    def told(self) -> set[int]:
        """The questions with a notice instead of an answer: it is a reply to the last of those that the model
        was asked together."""
        numbers = {message.id: number for number, message in self.said.items()}
        own = self.table.stage.discord.bot_user_id
        shown = (one for channel in self.channels for one in self.table.stage.discord.messages(channel))
        meant = {int(one.reference["message_id"]) for one in shown if one.author.id == own and one.reference}
        pointed = {numbers[message_id] for message_id in meant & numbers.keys()}
        together = {number: {number} for number in self.asked_at}
        for request in self.table.stage.model.of("reply"):
            batch = {int(number) for text in asked(request) for number in _NUMBER.findall(text)}
            together.update(dict.fromkeys(batch & together.keys(), batch))
        return {number for number, batch in together.items() if batch & pointed}

    def silence(self) -> list[str]:
        """The questions without an answer and without a notice."""
        silent = self.asked_at.keys() - self.answered().keys() - self.told()
        return [self.said[number].content for number in sorted(silent)]

    def twice(self) -> list[str]:
        """The answers to questions that were answered more than once."""
        many = {number for number, count in self.answered().items() if count > 1}
        shown = (one for channel in self.channels for one in self.table.spoken(channel))
        return [
            f"{one.id} {one.content[:200]}"
            for one in shown
            if many & {int(number) for number in _NUMBER.findall(one.content)}
        ]

    def stored_wrong(self, rows: list[tuple[int, str]]) -> list[str]:
        """What differs between what was said and the (message id, text) of members' turns that are stored."""
        expected = {message.id: message.content for message in self.said.values()}
        found = dict(rows)
        wrong = [f"lost: {text}" for identifier, text in expected.items() if identifier not in found]
        wrong += [f"other: {text}" for identifier, text in rows if expected.get(identifier) != text]
        if len(rows) != len(found):
            wrong.append(f"{len(rows) - len(found)} stored twice")
        return wrong
