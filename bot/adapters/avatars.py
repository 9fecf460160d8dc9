"""Persona pictures at permanent addresses: application emojis on Discord's CDN, drawn where none is given."""

from __future__ import annotations

import asyncio
import colorsys
import hashlib
import io
import logging
import time
import warnings
from collections.abc import Callable
from typing import Final

import aiohttp
import discord
from PIL import Image, ImageDraw, ImageFont

from bot.core.types import Persona
from bot.errors import UserFacing

log = logging.getLogger(__name__)

SIDE: Final = 128
LARGEST_BYTES: Final = 256 * 1024
LARGEST_PIXELS: Final = 40_000_000
TIMEOUT_S: Final = 30.0
FAILURES: Final = (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError, RuntimeError)
FAILED_FOR_S: Final = 600.0
"""How long after a failure Discord is not asked again."""


class AvatarShelf:
    """Puts each persona's picture on the shelf once; a changed picture replaces the old one."""

    def __init__(self, *, client: discord.Client, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._monotonic = monotonic
        self._emojis: dict[str, discord.Emoji] | None = None
        self._failed_at: float | None = None
        self._lock = asyncio.Lock()
        self._gone: set[int] = set()
        """Personas that were deleted in this process: their words may still be on their way."""
        self._names: dict[tuple[int, str, bytes | None], str] = {}

    async def ensure(self, persona: Persona) -> str | None:
        """The address of the persona's picture, given or drawn. None when Discord does not take it now."""
        name = self._name(persona)
        if self._emojis is not None and name in self._emojis:
            return self._emojis[name].url
        async with self._lock:
            if persona.id in self._gone:
                return None
            if self._failed_at is not None and self._monotonic() - self._failed_at < FAILED_FOR_S:
                return None
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    return (await self._on_shelf(name, persona)).url
            except (
                discord.DiscordException,
                aiohttp.ClientError,
                OSError,
                TimeoutError,
                RuntimeError,
            ) as problem:
                self._failed_at = self._monotonic()
                log.warning("The picture of persona %s was not stored: %s", persona.id, problem)
                return None

    async def forget(self, persona_id: int) -> None:
        """Remove the pictures of a persona that is gone. Failures are only logged."""
        self._gone.add(persona_id)
        async with self._lock:
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    await self._remove_others(persona_id, keep="")
            except FAILURES as problem:
                log.warning("The picture of persona %s was not removed: %s", persona_id, problem)

    def _name(self, persona: Persona) -> str:
        key = (persona.id, persona.name, persona.avatar)
        if key not in self._names:
            if len(self._names) > 2000:
                self._names.clear()
            picture = persona.avatar or persona.name.encode()
            self._names[key] = f"p{persona.id}_{hashlib.sha256(picture).hexdigest()[:10]}"
        return self._names[key]

    async def _on_shelf(self, name: str, persona: Persona) -> discord.Emoji:
        emojis = await self._listed()
        if name not in emojis:
            image = await asyncio.to_thread(_picture_of, persona)
            emojis[name] = await self._client.create_application_emoji(name=name, image=image)
            await self._remove_others(persona.id, keep=name)
        return emojis[name]

    async def _remove_others(self, persona_id: int, *, keep: str) -> None:
        emojis = await self._listed()
        for name in [name for name in emojis if name.startswith(f"p{persona_id}_") and name != keep]:
            await emojis.pop(name).delete()

    async def _listed(self) -> dict[str, discord.Emoji]:
        if self._emojis is None:
            self._emojis = {emoji.name: emoji for emoji in await self._client.fetch_application_emojis()}
        return self._emojis


async def prepare_picture(raw: bytes) -> bytes:
    """Make an uploaded picture a square PNG of at most 256 KiB, off the event loop.

    `UserFacing` when the bytes are no picture that can be read.
    """
    return await asyncio.to_thread(_prepared, raw)


def draw_picture(name: str) -> bytes:
    """Draw a PNG for a persona without a picture: its initials, or a pattern for other scripts.

    The colour comes from the name alone, so it stays the same everywhere.
    """
    digest = hashlib.sha256(name.encode()).digest()
    red, green, blue = colorsys.hls_to_rgb(digest[0] / 256, 0.38, 0.5)
    image = Image.new("RGB", (SIDE, SIDE), (int(red * 255), int(green * 255), int(blue * 255)))
    pen = ImageDraw.Draw(image)
    initials = "".join(word[0] for word in name.split()[:2]).upper()
    if initials and all(letter.isalnum() and ord(letter) < 0x180 for letter in initials):
        font = ImageFont.load_default(size=SIDE * (0.6 if len(initials) == 1 else 0.46))
        pen.text((SIDE / 2, SIDE / 2), initials, fill="white", font=font, anchor="mm")
    else:
        _pattern(pen, digest)
    return _png(image)


def _pattern(pen: ImageDraw.ImageDraw, digest: bytes) -> None:
    """A mirrored 5×5 pattern: the bundled font has no letters for every script."""
    cell = SIDE // 8
    start = (SIDE - 5 * cell) // 2
    for row in range(5):
        for column in range(5):
            mirrored = min(column, 4 - column)
            if digest[1 + row * 3 + mirrored] & 1:
                left, top = start + column * cell, start + row * cell
                pen.rectangle((left, top, left + cell - 1, top + cell - 1), fill="white")


def _picture_of(persona: Persona) -> bytes:
    return _prepared(persona.avatar) if persona.avatar else draw_picture(persona.name)


def _prepared(raw: bytes) -> bytes:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(raw)) as opened:
                if opened.width * opened.height > LARGEST_PIXELS:
                    raise UserFacing(
                        "That picture has too many pixels. Please send one of at most 40 megapixels."
                    )
                opened.draft("RGB", (SIDE * 2, SIDE * 2))
                image = opened.convert("RGBA")
    except UserFacing:
        raise
    except Exception as problem:  # Pillow's plugins raise nearly anything over broken files
        raise UserFacing(
            "That file is no picture I can read. Please send a PNG, JPEG, GIF or WebP."
        ) from problem
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    square = image.crop((left, top, left + side, top + side)).resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    return _png(square)


def _png(image: Image.Image) -> bytes:
    target = io.BytesIO()
    image.save(target, "PNG", optimize=True)
    return target.getvalue()
