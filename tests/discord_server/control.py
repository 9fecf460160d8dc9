"""A small HTTP control for a server that runs alone: build a world, let users act, ask what happened."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from .users import ScriptedUser

if TYPE_CHECKING:
    from .models import Channel, Message
    from .server import DiscordServer

Command = Callable[[dict[str, Any]], Awaitable[Any]]


class Control:
    """Serves POST /control/NAME with a JSON object; the answer is JSON too."""

    def __init__(self, server: DiscordServer) -> None:
        """Control `server`."""
        self._server = server
        self._commands: dict[str, Command] = {
            "build": self.build,
            "say": self.say,
            "burst": self.burst,
            "crowd": self.crowd,
            "heard": self.heard,
            "slash": self.slash,
            "messages": self.messages,
            "statistics": self.statistics,
            "close": self.close,
        }

    def install(self, app: web.Application) -> None:
        """Add the route to an aiohttp application."""
        app.router.add_post("/control/{name}", self._handle)

    async def _handle(self, request: web.Request) -> web.Response:
        command = self._commands.get(request.match_info["name"])
        if command is None:
            return web.json_response({"error": f"commands: {sorted(self._commands)}"}, status=404)
        raw = await request.read()
        try:
            return web.json_response(await command(json.loads(raw) if raw else {}))
        except Exception as error:
            return web.json_response({"error": f"{type(error).__name__}: {error}"}, status=400)

    async def build(self, wanted: dict[str, Any]) -> Any:
        """Create `guilds` guilds, each with `channels` text channels, `members` members and a moderator."""
        built = []
        for number in range(int(wanted.get("guilds", 1))):
            guild = self._server.add_guild(f"Guild {number}")
            channels = [
                self._server.add_channel(guild, f"channel-{i}") for i in range(int(wanted.get("channels", 1)))
            ]
            members = [
                self._server.add_member(guild, f"Member {i}") for i in range(int(wanted.get("members", 3)))
            ]
            members.append(self._server.add_moderator(guild, "Moderator"))
            built.append(
                {
                    "guild": str(guild.id),
                    "channels": [str(channel.id) for channel in channels],
                    "members": [str(member.id) for member in members],
                }
            )
            if number % 50 == 49:
                await asyncio.sleep(0)
        return built

    async def say(self, wanted: dict[str, Any]) -> Any:
        """Let `user` say `text` in `channel`."""
        message = await self._user(wanted["user"]).say(self._channel(wanted["channel"]), wanted["text"])
        return {"id": str(message.id)}

    async def burst(self, wanted: dict[str, Any]) -> Any:
        """Let `users` in turn say `text` (with {n}) over `channels`: `count` times, `per_second`."""
        loop = asyncio.get_running_loop()
        users = [self._user(item) for item in wanted["users"]]
        channels = [self._channel(item) for item in wanted["channels"]]
        rate, count, started = float(wanted.get("per_second", 0)), int(wanted["count"]), loop.time()
        for number in range(count):
            if rate:
                await asyncio.sleep(max(0.0, started + number / rate - loop.time()))
            text = str(wanted.get("text", "Message {n}")).replace("{n}", str(number))
            await users[number % len(users)].say(channels[number % len(channels)], text)
        return {"count": count, "seconds": loop.time() - started}

    async def crowd(self, wanted: dict[str, Any]) -> Any:
        """Let members talk in many `guilds` (as `build` tells of them): `count` messages, `per_second`, every
        one in `asking` a question to `name`; guild 0 has the share `noisy` of them. Ends when all is said."""
        loop, chance = asyncio.get_running_loop(), random.Random(int(wanted.get("seed", 1)))
        rate, started, questions = float(wanted["per_second"]), loop.time(), []
        for number in range(int(wanted["count"])):
            await asyncio.sleep(max(0.0, started + number / rate - loop.time()))
            noisy = chance.random() < float(wanted.get("noisy", 0.0))
            guild = wanted["guilds"][0 if noisy else chance.randrange(len(wanted["guilds"]))]
            channel, user = chance.choice(guild["channels"]), chance.choice(guild["members"])
            asks = number % int(wanted["asking"]) == 0
            text = (
                f"{wanted['name']}, #{number} please?" if asks else f"I see #{number} boats in the harbour."
            )
            message = await self._user(user).say(self._channel(channel), text)
            if asks:
                questions.append({"number": number, "id": str(message.id), "guild": guild["guild"]})
        return {"seconds": loop.time() - started, "questions": questions}

    async def heard(self, wanted: dict[str, Any]) -> Any:
        """Return what was said through webhooks and by the bot itself: id, channel, author, text."""
        own, found = self._server.bot_user_id, []
        for channel in self._server.world.channels.values():
            for message in self._server.messages(channel):
                if message.webhook_id is not None or message.author.id == own:
                    found.append(
                        {
                            "id": str(message.id),
                            "channel": str(channel.id),
                            "own": message.author.id == own,
                            "text": message.content,
                        }
                    )
        return found

    async def slash(self, wanted: dict[str, Any]) -> Any:
        """Let `user` use `command` in `channel` with `options`; returns the answer or the form's fields."""
        user, channel = self._user(wanted["user"]), self._channel(wanted["channel"])
        began = asyncio.get_running_loop().time()
        interaction = await user.slash(wanted["command"], channel, options=wanted.get("options") or {})
        timeout = float(wanted.get("timeout", 30.0))
        if await interaction.acked(timeout) == 9:
            return {"modal": sorted((await interaction.modal()).fields)}
        acked = asyncio.get_running_loop().time() - began
        return {**_shown(await interaction.answer(timeout)), "acked_s": acked}

    async def messages(self, wanted: dict[str, Any]) -> Any:
        """Return the messages of `channel`, oldest first, the newest `limit` of them."""
        found = self._server.messages(self._channel(wanted["channel"]))
        return [_shown(item) for item in found[-int(wanted.get("limit", 100)) :]]

    async def statistics(self, wanted: dict[str, Any]) -> Any:
        """Return counts of requests by status and of sessions, and the violations."""
        return {
            "requests": self._server.request_count,
            "by_status": Counter(str(item.status) for item in self._server.requests),
            "sessions": len(self._server.gateway.sessions),
            "connected": len(self._server.gateway.connections),
            "identifies": len(self._server.gateway.identifies),
            "resumes": self._server.gateway.resumes,
            "syncs": len(self._server.command_syncs),
            "violations": [str(item) for item in self._server.violations],
        }

    async def close(self, wanted: dict[str, Any]) -> Any:
        """Close the gateway connections with `code`."""
        await self._server.gateway.close(int(wanted.get("code", 4000)))
        return {}

    def _user(self, identifier: Any) -> ScriptedUser:
        return ScriptedUser(self._server, self._server.world.users[int(identifier)])

    def _channel(self, identifier: Any) -> Channel:
        return self._server.world.channels[int(identifier)]


def _shown(message: Message) -> dict[str, Any]:
    return {
        "id": str(message.id),
        "author": message.author_name,
        "content": message.content,
        "webhook": message.webhook_id is not None,
        "ephemeral": message.ephemeral,
    }
