"""The real engine on a real database, connected to the loopback Discord: what commands really do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot import prompts
from bot.adapters.sql_store import SqlStore, open_store
from bot.client import TroupeClient
from bot.engine.assembly import assemble
from bot.engine.parts import Parts
from bot.engine.troupe import Troupe
from tests.connected import Values, until
from tests.discord_server import Channel, DiscordServer, Guild, ScriptedUser
from tests.discord_server.models import Message
from tests.engine.stage import RealClock
from tests.fakes import ChatScript, ScriptedChatModel
from tests.fakes_encoder import HashEncoder
from tests.fakes_index import FakeIndex


@dataclass
class Played:
    """A guild with a moderator and a member, and the bot in it."""

    server: DiscordServer
    troupe: Troupe
    store: SqlStore
    model: ScriptedChatModel
    guild: Guild
    channel: Channel
    moderator: ScriptedUser
    member: ScriptedUser

    async def ask(self, command: str, **options: Any) -> Message:
        """The answer to a moderator's command."""
        return await (await self.moderator.slash(command, self.channel, options=options)).answer()

    async def click(self, message: Message, label: str) -> Message:
        """What a message says after the moderator clicked."""
        return await (await self.moderator.click(message, label)).answer()

    async def said(self, number: int) -> list[Message]:
        """What personas said in the channel, once there are so many messages."""
        return await self.spoken(lambda found: len(found) >= number)

    async def spoken(self, enough: Any) -> list[Message]:
        """What personas said, once it is enough."""
        async with asyncio.timeout(30):
            while True:
                found = [one for one in self.server.messages(self.channel) if one.webhook_id]
                if enough(found):
                    return found
                await asyncio.sleep(0.01)


@asynccontextmanager
async def open_played(
    server: DiscordServer, folder: Path, script: Mapping[str, ChatScript] | None = None, **parts: object
) -> AsyncIterator[Played]:
    """Everything real but the language model, the encoder and the index."""
    guild = server.add_guild("Tavern")
    channel = server.add_channel(guild, "inn")
    moderator, member = server.add_moderator(guild, "Mona"), server.add_member(guild, "Alice")
    clock, model, values = RealClock(), ScriptedChatModel(script), Values()
    async with open_store(folder / "test.sqlite3", clock=clock) as store:
        client = TroupeClient(guild_ready_timeout=0.05, first_restart_s=0.05)
        given = {
            "encoder": HashEncoder(),
            "index": FakeIndex(),
            "scorer": None,
            "channels": client.channels,
            **parts,
        }
        troupe = assemble(
            Parts(
                store=store,
                messenger=client.messenger,
                prompts=prompts.load(),
                chat=model,
                background=model,
                now=clock,
                **given,  # type: ignore[arg-type]
            )
        )
        await troupe.prepare()
        client.attach(troupe, load_value=values.load, save_value=values.save)
        task = asyncio.create_task(client.serve(server.token), name="client under test")
        try:
            await until(server, task, lambda: client.is_ready() and bool(server.commands.get(None)))
            yield Played(server, troupe, store, model, guild, channel, moderator, member)
        finally:
            await troupe.close()
            await client.stop()
            await asyncio.gather(task, return_exceptions=True)
