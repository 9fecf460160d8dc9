"""The real bot in a process of its own, between the loopback Discord and the scripted model server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks._filled import MEMBERS, PERSONA
from benchmarks._notes import notes_for
from benchmarks._words import Sentences
from bot.core.types import Place
from bot.settings import variables
from tests.discord_server import BotProcess, Channel, DiscordServer, Guild, Message, ScriptedUser
from tests.model_server import ModelServer, RecordedRequest, Say

START_S = 120.0
ANSWER_S = 60.0


@dataclass(frozen=True)
class Town:
    """A guild of the loopback Discord with its channels and people."""

    discord: DiscordServer
    model: ModelServer
    guild: Guild
    channels: tuple[Channel, ...]
    members: tuple[ScriptedUser, ...]
    moderator: ScriptedUser

    @property
    def places(self) -> list[Place]:
        """The channels as the bot names them."""
        return [Place(channel.id, self.guild.id, channel.name) for channel in self.channels]

    async def reply_to(self, said: Message) -> Message:
        """The persona's first words after a message, in its channel."""
        channel = self.discord.world.channels[said.channel_id]
        return await self.discord.wait_for_message(
            channel, lambda one: one.id > said.id and one.author_name == PERSONA, ANSWER_S
        )


@asynccontextmanager
async def town(channels: int) -> AsyncIterator[Town]:
    """Both servers, listening, and a guild with so many channels. The bot is not there yet."""
    async with DiscordServer(check_schema=False, log_limit=500) as discord, ModelServer() as model:
        sentences = Sentences(seed=2)
        model.set_script("reply", lambda request: Say(f"*nods* {sentences.next()}", chunks=None))
        model.set_script("memory", _notes)
        guild = discord.add_guild("Harbour")
        made = tuple(discord.add_channel(guild, f"quay-{number}") for number in range(channels))
        members = tuple(discord.add_member(guild, name, user_id=owner) for name, owner in MEMBERS)
        yield Town(discord, model, guild, made, members, discord.add_moderator(guild, "Mona"))


def _notes(request: RecordedRequest) -> Say:
    return Say(notes_for(request.text, request.number))


def bot_in(folder: Path, where: Town) -> BotProcess:
    """The bot with its default settings on this data folder; not started."""
    unset = dict.fromkeys(variables(), "")
    settings = {
        "LLM_BASE_URL": where.model.url,
        "LLM_MODEL": where.model.model,
        "DISCORD_TOKEN": where.discord.token,
        "DATA_DIR": str(folder),
        "HF_HUB_OFFLINE": "1",
    }
    return BotProcess(where.discord, folder, env={**unset, **settings}, allow_errors=True)


@asynccontextmanager
async def running(folder: Path, where: Town) -> AsyncIterator[BotProcess]:
    """The bot started and connected; stopped at the end. Raises AssertionError when it logged an error."""
    bot = bot_in(folder, where)
    try:
        await bot.start()
        await connected(bot, where)
        yield bot
    except BaseException:
        print(bot.output[-4000:])
        raise
    finally:
        if bot.running:
            await bot.terminate()
    assert not bot.errors(), bot.errors()


async def connected(bot: BotProcess, where: Town) -> float:
    """Wait until the bot is connected and its engine was told to start; the moment (`time.monotonic`)."""
    await bot.ready(START_S)
    await until(lambda: "Connected to Discord" in bot.output, "the connection")
    moment = time.monotonic()
    await where.discord.until(lambda: where.discord.commands.get(None), START_S, "the commands")
    return moment


async def until(ready: Callable[[], object], what: str, seconds: float = START_S) -> None:
    """Wait for what no server announces."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"it did not happen: {what}")
        await asyncio.sleep(0.005)
