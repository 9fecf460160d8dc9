"""Pictures as attachments, with a legend for what their font cannot write."""

from __future__ import annotations

import io

import discord

from bot.core.pictures import Picture


def as_file(picture: Picture | None, name: str) -> list[discord.File]:
    """The picture as an attachment; nothing when it could not be drawn."""
    return [] if picture is None else [discord.File(io.BytesIO(picture.png), filename=name)]


def legend(picture: Picture | None) -> list[str]:
    """What the numbers in a picture stand for."""
    return [f"({number}) {text}" for number, text in picture.legend] if picture else []
