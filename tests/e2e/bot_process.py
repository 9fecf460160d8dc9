"""The real bot in a process of its own, between the loopback Discord and the scripted model server."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.settings import variables
from tests.discord_server import BotProcess, Channel, DiscordServer, Guild, Message, ScriptedUser
from tests.model_server import Behaviour, ModelServer, RecordedRequest, Say

START_S = 50.0
"""Until a started bot is there, on a machine that is busy with other tests."""
ANSWER_S = 20.0


async def eventually(ready: Callable[[], object], what: str, seconds: float = ANSWER_S) -> None:
    """Wait for what no server announces: a line of the log, a row of the database."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not ready():
        assert asyncio.get_running_loop().time() < deadline, f"it did not happen: {what}"
        await asyncio.sleep(0.02)


def asked(request: RecordedRequest) -> list[str]:
    """The texts of the turns that a reply shall answer, without their speakers."""
    turns = request.messages[-1][1].rpartition("</notes>")[2].strip()
    return [line.partition(": ")[2] for line in turns.splitlines()]


def echo(request: RecordedRequest) -> Behaviour:
    """A reply that nobody gave before and that tells what it answers."""
    return Say(f"*nods* I heard {' and '.join(asked(request))} (that was number {request.number}).")


_PLAIN = (
    "*smiles and pours another cup*",
    "The fire is warm tonight, sit down.",
    "Well now! Tell me more of that.",
    "*wipes the counter, thinking*",
    "I would not have guessed it.",
    "There is bread on the table, if you like.",
    "*laughs quietly* Who would have thought!",
    "Hush, somebody is at the door.",
)


def plain(request: RecordedRequest) -> Behaviour:
    """A reply that repeats nothing of what was said."""
    return Say(f"{_PLAIN[request.number % len(_PLAIN)]} So much for the {request.number}. time.")


def window(request: RecordedRequest) -> str:
    """What a prompt shows of the conversation: everything but the system message and the notes."""
    shown = [content for role, content in request.messages if role != "system"]
    before, _, after = shown[-1].rpartition("<notes>")
    return "\n".join([*shown[:-1], before, after.rpartition("</notes>")[2]])


def notes(request: RecordedRequest) -> str:
    """What a prompt recalls."""
    return request.messages[-1][1].partition("<notes>")[2].partition("</notes>")[0]


def rewriting(lines: Mapping[str, str]) -> Callable[[RecordedRequest], Behaviour]:
    """Notes for the background: for each word that a numbered turn holds, the line that comes from it."""

    def write(request: RecordedRequest) -> Behaviour:
        turns = re.findall(r"^\[(\d+)\] (.*)$", request.messages[-1][1], re.MULTILINE)
        found = [
            {"section": "threads", "text": text, "turns": [int(number)]}
            for word, text in lines.items()
            for number, said in turns
            if word in said
        ]
        filler = [{"section": "events", "text": "They talk.", "turns": [int(turns[-1][0])]}]
        answer = {"keep": [1, 2, 3], "lines": found + filler, "facts": [], "triggers": [], "emotions": []}
        return Say(json.dumps(answer))

    return write


@dataclass
class Stage:
    """A Discord and a model server in this process, and the bot in another."""

    discord: DiscordServer
    model: ModelServer
    bot: BotProcess
    errors_seen: int = 0

    async def up(self, *, connected: bool = True) -> None:
        """Start the bot, and wait until its commands can be used; with `connected` until it has caught up."""
        marks = self.bot.output.count("Connected to Discord")
        await self.bot.start()
        await self.bot.ready(START_S)
        await self.discord.until(lambda: self.discord.commands.get(None), START_S, "the commands")
        if connected:
            await eventually(
                lambda: self.bot.output.count("Connected to Discord") > marks, "the connection", START_S
            )

    async def again(self) -> None:
        """Stop the bot as a supervisor does, and start it anew."""
        assert await self.bot.terminate() == 0
        await self.up()

    def take_errors(self) -> list[dict[str, Any]]:
        """What the bot logged as errors since the last look: a test that provokes some takes them."""
        errors = self.bot.errors()
        new, self.errors_seen = errors[self.errors_seen :], len(errors)
        return new

    def stored(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Look into the bot's database, as a crash would leave it."""
        address = f"file:{self.bot.folder / 'troupe.sqlite3'}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=10)) as database:
            return database.execute(query, values).fetchall()

    def restore(self) -> None:
        """Back to a model that answers and a Discord that works."""
        self.model.script.clear()
        self.model.set_script("reply", echo)
        self.discord.faults.clear()

    def check(self) -> None:
        """Fail when the bot logged an error or broke a rule of Discord."""
        errors = self.take_errors()
        assert not errors, "the bot logged errors:\n" + "\n".join(
            f"{one['logger']}: {one['message']}\n{one['traceback'] or ''}" for one in errors
        )
        violations = self.discord.take_violations()
        assert not violations, "\n".join(map(str, violations))


@asynccontextmanager
async def stage(
    folder: Path, *, start: bool = True, env: Mapping[str, str] | None = None
) -> AsyncIterator[Stage]:
    """Both servers listening and, with `start`, the bot connected; `env` is on top of its settings."""
    async with DiscordServer() as discord, ModelServer() as model:
        unset = dict.fromkeys(variables(), "")
        settings = {
            "LLM_BASE_URL": model.url,
            "LLM_MODEL": model.model,
            "DISCORD_TOKEN": discord.token,
            "DATA_DIR": str(folder),
            "CONTEXT_TOKENS": "2048",
            "HF_HUB_OFFLINE": "1",
        }
        bot = BotProcess(discord, folder, env={**unset, **settings, **(env or {})}, allow_errors=True)
        run = Stage(discord, model, bot)
        run.restore()
        try:
            if start:
                await run.up()
            yield run
        except BaseException:
            print(bot.output)
            raise
        finally:
            if bot.running:
                await bot.terminate()


@dataclass
class Table:
    """The guild of one test, with short words for what people do there."""

    stage: Stage
    guild: Guild
    moderator: ScriptedUser
    first_request: int
    channels: dict[str, Channel] = field(default_factory=dict)

    @classmethod
    async def lay(cls, stage: Stage, name: str) -> Table:
        """A new guild with a moderator; the bot is invited and has said its first steps."""
        guild = stage.discord.add_guild(name, with_bot=False)
        moderator = stage.discord.add_moderator(guild, "Mona")
        table = cls(stage, guild, moderator, len(stage.model.requests))
        lobby = table.channel("lobby")
        stage.discord.invite_bot(guild)
        await table.note(lobby, "/persona create")
        return table

    def prompts(self, *words: str, purpose: str = "reply") -> list[RecordedRequest]:
        """The requests to the model since the table was laid that hold all of these words, in order."""
        since = self.stage.model.requests[self.first_request :]
        return [one for one in since if one.purpose == purpose and all(word in one.text for word in words)]

    def channel(self, name: str = "inn", **more: Any) -> Channel:
        """A channel, made when it is asked for first."""
        if name not in self.channels:
            self.channels[name] = self.stage.discord.add_channel(self.guild, name, **more)
        return self.channels[name]

    def member(self, name: str, **more: Any) -> ScriptedUser:
        """A plain member."""
        return self.stage.discord.add_member(self.guild, name, **more)

    async def use(self, command: str, channel: Channel, who: ScriptedUser | None = None, **more: Any) -> str:
        """Use a slash command and return everything that it answered, once it is complete."""
        used = await (who or self.moderator).slash(command, channel, **more)
        first = await used.answer(ANSWER_S)
        assert first.ephemeral, f"everybody sees the answer to /{command}"
        return "\n".join(message.text for message in used.messages)

    async def persona(self, name: str, channel: Channel, **texts: str) -> str:
        """Fill in the form of /persona create."""
        form = await self.moderator.slash("persona create", channel)
        values = {"name": name, "description": f"{name} keeps an inn.", "greeting": "", **texts}
        sent = await self.moderator.submit_modal(form, values)
        return (await sent.answer(ANSWER_S)).text

    async def scene(self, name: str, channel: Channel, **more: Any) -> str:
        """Start a scene."""
        return await self.use("scene start", channel, name=name, **more)

    async def reply_to(self, said: Message, persona: str, timeout: float = ANSWER_S) -> Message:
        """The first words of a persona after a message."""
        channel = self.stage.discord.world.channels[said.channel_id]
        return await self.stage.discord.wait_for_message(
            channel, lambda one: one.id > said.id and one.author_name == persona, timeout
        )

    async def talk(
        self, who: ScriptedUser, channel: Channel, text: str, persona: str, timeout: float = ANSWER_S
    ) -> Message:
        """Say something to a persona and return its reply."""
        return await self.reply_to(await who.say(channel, text), persona, timeout)

    async def note(self, channel: Channel, text: str, timeout: float = ANSWER_S) -> Message:
        """The first message of the bot itself, for all to see, that holds this text."""
        own = self.stage.discord.bot_user_id
        return await self.stage.discord.wait_for_message(
            channel,
            lambda one: one.author.id == own and not one.ephemeral and text in one.content,
            timeout,
        )

    def spoken(self, channel: Channel, names: Iterable[str] = ()) -> list[Message]:
        """What personas said through webhooks, oldest first."""
        own = self.stage.discord.application_id
        return [
            message
            for message in self.stage.discord.messages(channel)
            if message.webhook_id not in (None, own)
            and message.application_id == own
            and (not names or message.author_name in names)
        ]
