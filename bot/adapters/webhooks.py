"""Speaks in Discord's channels: through the channel's one webhook, or plainly where none may be used."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import aiohttp
import discord

from bot.adapters.webhook_failures import TRANSPORT, Busy, no_blind_repeat, our_failures
from bot.adapters.webhook_shelf import CannotUseWebhooks, WebhookShelf
from bot.core.events import MessagePosted
from bot.core.types import OutboxRow, Persona, Place
from bot.errors import DeliveryError, new_reference

log = logging.getLogger(__name__)

LIMIT: Final = 2000
TIMEOUT_S: Final = 60.0
PICTURE_WAIT_S: Final = 2.0
PAGE: Final = 100
CLOCK_SKEW: Final = timedelta(seconds=30)
"""How far Discord's clock may stand behind ours when a sent message is looked for."""
BUSY_ATTEMPTS: Final = 3
SPOKEN_KEPT: Final = 1000
NOBODY_IS_TOLD: Final = discord.AllowedMentions.none()

Channel = discord.abc.Messageable


class Read(Protocol):
    """The door that live messages pass too; None for what is not heard."""

    def __call__(
        self, message: discord.Message, *, place: Place, author_name: str | None, backfilled: bool
    ) -> MessagePosted | None: ...


class DiscordMessenger:
    """The `Messenger` of Discord. Owns one HTTP session for webhooks; `close` ends it."""

    def __init__(
        self,
        *,
        client: discord.Client,
        read: Read,
        picture: Callable[[Persona], Awaitable[str | None]],
        webhooks: WebhookShelf,
        busy_pause_s: float = 5.0,
    ) -> None:
        """`picture` gives the address of a persona's picture; it never raises but for cancellation."""
        self._client = client
        self._read = read
        self._picture = picture
        self._pictures: set[asyncio.Task[str | None]] = set()
        self._webhooks = webhooks
        self._busy_pause_s = busy_pause_s
        self._session: aiohttp.ClientSession | None = None
        self._spoken: OrderedDict[str, int] = OrderedDict()

    async def close(self) -> None:
        """End the HTTP session. A later message opens a new one."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def prepare(self, place: Place) -> str | None:
        """Make sure that the place's webhook exists; otherwise say why personas speak plainly there."""
        if not place.guild_id:
            return None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._webhooks.get(place)
        except CannotUseWebhooks as problem:
            return str(problem)
        except (discord.HTTPException, RuntimeError, *TRANSPORT) as problem:
            log.info("Place %s: the webhook is not ready: %s", place.id, problem)
        return None

    async def speak(
        self, place: Place, persona: Persona, text: str, *, nonce: str, reply_to: int | None = None
    ) -> int:
        """One message in the persona's name. Never repeated here when it may have arrived.

        Webhooks cannot reply: `reply_to` is shown where the bot speaks plainly.
        """
        avatar_url = persona.avatar_url or await self._picture_soon(persona)
        for attempt in range(BUSY_ATTEMPTS):
            try:
                async with our_failures(), asyncio.timeout(TIMEOUT_S):
                    message_id = await self._speak_once(place, persona, text, avatar_url, nonce, reply_to)
            except Busy:
                log.info("Place %s: Discord asks for patience", place.id)
                await asyncio.sleep(self._busy_pause_s * (attempt + 1))
                continue
            self._remember(nonce, message_id)
            return message_id
        raise DeliveryError("Discord takes no messages from here at the moment")

    async def notice(
        self, place: Place, text: str, *, reply_to: int | None = None, view: discord.ui.View | None = None
    ) -> int:
        """A short line in the bot's own name; the same notice to the same message goes out once."""
        nonce = f"n{reply_to}" if reply_to else None
        async with our_failures(), asyncio.timeout(TIMEOUT_S):
            return await self._send(place, text[:LIMIT], nonce=nonce, reply_to=reply_to, view=view)

    async def take_back(self, place: Place, message_ids: Sequence[int]) -> None:
        """Delete messages of the personas here; those that are gone already are no failure."""
        async with our_failures(), asyncio.timeout(TIMEOUT_S):
            for message_id in message_ids:
                await self._delete(place, message_id)

    async def reword(self, place: Place, message_id: int, text: str) -> None:
        """Give a message of a persona here other words; one that is gone already is no failure."""
        async with our_failures(), asyncio.timeout(TIMEOUT_S):
            with contextlib.suppress(discord.NotFound):
                await self._edit(place, message_id, text)

    async def _edit(self, place: Place, message_id: int, text: str) -> None:
        if place.guild_id:
            with contextlib.suppress(CannotUseWebhooks, discord.NotFound):
                key = await self._webhooks.get(place)
                webhook = discord.Webhook.partial(key.id, key.token, session=self._own_session())
                thread = discord.Object(place.id) if key.channel_id != place.id else discord.utils.MISSING
                await webhook.edit_message(
                    message_id, content=text, allowed_mentions=NOBODY_IS_TOLD, thread=thread
                )
                return
        plain = await self._partial(place).fetch_message(message_id)  # said in the bot's own name
        first, newline, _ = plain.content.partition("\n")
        name = first + newline if newline and first.startswith("**") and first.endswith("**") else ""
        await plain.edit(content=f"{name}{text}"[:LIMIT], allowed_mentions=NOBODY_IS_TOLD)

    async def _delete(self, place: Place, message_id: int) -> None:
        if place.guild_id:
            with contextlib.suppress(CannotUseWebhooks, discord.NotFound):
                key = await self._webhooks.get(place)
                webhook = discord.Webhook.partial(key.id, key.token, session=self._own_session())
                thread = discord.Object(place.id) if key.channel_id != place.id else discord.utils.MISSING
                await webhook.delete_message(message_id, thread=thread)
                return
        with contextlib.suppress(discord.NotFound):  # said plainly, in the bot's own name
            await self._partial(place).get_partial_message(message_id).delete()

    def _partial(self, place: Place) -> discord.PartialMessageable:
        return self._client.get_partial_messageable(place.id, guild_id=place.guild_id or None)

    async def typing(self, place: Place) -> None:
        """Shows that an answer is coming. A failure is only logged."""
        try:
            async with our_failures(), asyncio.timeout(TIMEOUT_S):
                await self._channel(place).typing()
        except (DeliveryError, Busy) as problem:
            log.debug("Place %s: typing was not shown: %s", place.id, problem)

    async def history(self, place: Place, *, after: int) -> AsyncIterator[MessagePosted]:
        """Messages after this id, oldest first, read by the same door as live ones."""
        names: dict[int, str] = {}
        while True:
            page = await self._page(place, after)
            for message in page:
                name = await self._name_of(place, message, names)
                event = self._read(message, place=place, author_name=name, backfilled=True)
                if event is not None:
                    yield event
            if len(page) < PAGE:
                return
            after = page[-1].id

    async def find_spoken(self, row: OutboxRow, place: Place) -> int | None:
        """The message that this row became. `DeliveryError` when the channel cannot be read."""
        if row.nonce in self._spoken:
            return self._spoken[row.nonce]
        after = discord.utils.time_snowflake(_aware(row.created_at) - CLOCK_SKEW)
        taken = set(self._spoken.values())
        while True:
            page = await self._page(place, after)
            for message in page:
                if message.id not in taken and self._is_row(message, row):
                    self._remember(row.nonce, message.id)
                    return message.id
            if len(page) < PAGE:
                return None
            after = page[-1].id

    # ------------------------------------------------------------ speaking
    async def _speak_once(
        self,
        place: Place,
        persona: Persona,
        text: str,
        avatar_url: str | None,
        nonce: str,
        reply_to: int | None,
    ) -> int:
        if place.guild_id:
            for _ in range(2):
                try:
                    return await self._execute(place, persona, text, avatar_url)
                except discord.NotFound as problem:
                    if problem.code not in (0, 10015):
                        raise
                    self._webhooks.forget(place)  # somebody deleted it: make it anew, once
                except CannotUseWebhooks as problem:
                    log.info("Place %s: speaking plainly: %s", place.id, problem)
                    break
        return await self._speak_plainly(place, persona, text, nonce, reply_to)

    async def _execute(self, place: Place, persona: Persona, text: str, avatar_url: str | None) -> int:
        key = await self._webhooks.get(place)
        webhook = discord.Webhook.partial(key.id, key.token, session=self._own_session())
        message = await webhook.send(
            text,
            username=display_name(persona.name),
            avatar_url=avatar_url or discord.utils.MISSING,
            allowed_mentions=NOBODY_IS_TOLD,
            thread=discord.Object(place.id) if key.channel_id != place.id else discord.utils.MISSING,
            wait=True,
        )
        return message.id

    async def _speak_plainly(
        self, place: Place, persona: Persona, text: str, nonce: str, reply_to: int | None
    ) -> int:
        named = plain_form(persona.name, text)
        if len(named) <= LIMIT:
            return await self._send(place, named, nonce=nonce, reply_to=reply_to)
        embed = discord.Embed().set_author(name=persona.name)  # no room for the name in the text itself
        return await self._send(place, text, nonce=nonce, reply_to=reply_to, embed=embed)

    async def _send(
        self,
        place: Place,
        text: str,
        *,
        nonce: str | None = None,
        reply_to: int | None = None,
        embed: discord.Embed | None = None,
        view: discord.ui.View | None = None,
    ) -> int:
        extra: dict[str, Any] = {}
        if view is not None:
            extra["view"] = view
        if nonce is not None:
            extra["nonce"] = nonce  # discord.py adds enforce_nonce: Discord then refuses to post twice
        if embed is not None:
            extra["embed"] = embed
        if reply_to is not None:
            extra["mention_author"] = False
            extra["reference"] = discord.MessageReference(
                message_id=reply_to,
                channel_id=place.id,
                guild_id=place.guild_id or None,
                fail_if_not_exists=False,
            )
        message = await self._channel(place).send(text, allowed_mentions=NOBODY_IS_TOLD, **extra)
        return message.id

    async def _picture_soon(self, persona: Persona) -> str | None:
        """The picture, if it is there soon: a first upload must not hold an answer back for long."""
        task = asyncio.create_task(self._picture_or_none(persona), name=f"picture of {persona.id}")
        self._pictures.add(task)
        task.add_done_callback(self._pictures.discard)
        try:
            async with asyncio.timeout(PICTURE_WAIT_S):
                return await asyncio.shield(task)
        except TimeoutError:
            return None

    async def _picture_or_none(self, persona: Persona) -> str | None:
        try:
            return await self._picture(persona)
        except Exception:
            # A picture is no reason to stay silent, and nobody may be waiting for it any more.
            log.exception(
                "The picture of persona %s could not be brought (ref %s)", persona.id, new_reference()
            )
            return None

    # ------------------------------------------------------------ reading
    async def _page(self, place: Place, after: int) -> list[discord.Message]:
        async with our_failures(), asyncio.timeout(TIMEOUT_S):
            history = self._channel(place).history(limit=PAGE, after=discord.Object(after), oldest_first=True)
            return [message async for message in history]

    async def _name_of(self, place: Place, message: discord.Message, names: dict[int, str]) -> str | None:
        """The author's name in the guild: messages of a history come without it."""
        author = message.author
        guild = self._client.get_guild(place.guild_id) if place.guild_id else None
        if guild is None or message.webhook_id is not None or author.bot:
            return None
        if author.id not in names:
            names[author.id] = author.display_name
            with contextlib.suppress(discord.HTTPException, *TRANSPORT):
                async with asyncio.timeout(TIMEOUT_S):
                    names[author.id] = (await guild.fetch_member(author.id)).display_name
        return names[author.id]

    def _is_row(self, message: discord.Message, row: OutboxRow) -> bool:
        content = message.content.strip()
        if message.webhook_id is not None:
            ours = message.webhook_id in self._webhooks.ids or (
                message.application_id is not None and message.application_id == self._client.application_id
            )
            return ours and content == row.text.strip()
        own = self._client.user is not None and message.author.id == self._client.user.id
        return own and content in (row.text.strip(), plain_form(row.speaker, row.text).strip())

    # ------------------------------------------------------------ helpers
    def _channel(self, place: Place) -> discord.abc.Messageable:
        if self._client.is_closed():
            raise DeliveryError("not connected to Discord")
        channel = self._client.get_channel(place.id)
        if isinstance(channel, discord.abc.Messageable):
            return channel
        return self._client.get_partial_messageable(place.id, guild_id=place.guild_id or None)

    def _own_session(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            timeout = aiohttp.ClientTimeout(total=TIMEOUT_S / 2)
            self._session = aiohttp.ClientSession(timeout=timeout, raise_for_status=no_blind_repeat)
        return self._session

    def _remember(self, nonce: str, message_id: int) -> None:
        self._spoken[nonce] = message_id
        while len(self._spoken) > SPOKEN_KEPT:
            self._spoken.popitem(last=False)


# ---------------------------------------------------------------- pure rules
_REFUSED = re.compile("(?i)(c)(lyde)|(d)(iscord)")
_HAIR_SPACE = "\u200a"


def display_name(name: str) -> str:
    """Return the name as a webhook may carry it: 1 to 80 characters, without the two words Discord refuses.

    A hair space inside keeps such a word readable; the stored name stays as it is.
    """
    plain = " ".join(name.split())
    allowed = _REFUSED.sub(lambda match: _HAIR_SPACE.join(part for part in match.groups() if part), plain)
    return allowed[:80].strip() or "Persona"


def plain_form(name: str, text: str) -> str:
    """Return a persona's words as a message of the bot itself: the name in bold, then the text."""
    return f"**{discord.utils.escape_markdown(name)}**\n{text}"


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.astimezone()
