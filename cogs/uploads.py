"""Files that members give to commands and forms: their bytes, within limits and time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import aiohttp
import discord
from discord import ui

from bot.errors import UserFacing
from cogs.answers import Asked, Form, think

LARGEST_FILE: Final = 10 * 1024 * 1024
MOST_FILES: Final = 10
TIMEOUT_S: Final = 60.0

Received = Callable[[Asked, Sequence[discord.Attachment]], Awaitable[None]]


async def read_file(attachment: discord.Attachment, largest: int = LARGEST_FILE) -> bytes:
    """The bytes of an attachment. `UserFacing` when it is too large or Discord does not give it."""
    if attachment.size > largest:
        size, limit = attachment.size / 2**20, largest // 2**20
        raise UserFacing(f"{attachment.filename} has {size:.1f} MiB; the limit is {limit} MiB.")
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await attachment.read()
    except (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError) as problem:
        raise UserFacing(
            f"Discord did not give me {attachment.filename}. Please upload it again."
        ) from problem


def decoded(raw: bytes, filename: str) -> str:
    """The text of a file. `UserFacing` when it is none."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UserFacing(f"{filename} is no UTF-8 text. Please save it as UTF-8.") from problem


class UploadForm(Form):
    """A form with one place for up to ten files; its input's custom id is `files`."""

    def __init__(self, *, title: str, label: str, about: str, received: Received) -> None:
        super().__init__(title=title, timeout=None)
        self._received = received
        self._upload: ui.FileUpload[UploadForm] = ui.FileUpload(
            custom_id="files", required=True, min_values=1, max_values=MOST_FILES
        )
        self.add_item(ui.Label(text=label, description=about, component=self._upload))

    async def on_submit(self, interaction: Asked, /) -> None:
        """Hand the files on; the answer is deferred."""
        await think(interaction)
        await self._received(interaction, self._upload.values)
