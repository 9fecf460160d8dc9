"""Answers to interactions: private, never twice, long ones split or filed, failures in one calm sentence."""

from __future__ import annotations

import io
import logging
from collections.abc import Sequence
from typing import Any, Final

import aiohttp
import discord
from discord import app_commands

from bot.errors import StorageError, UserFacing, new_reference

log = logging.getLogger(__name__)

Asked = discord.Interaction[Any]
LIMIT: Final = 2000
MOST_MESSAGES: Final = 3
NOT_STORED: Final = (
    "I cannot read or write my memory just now, so nothing was changed. Please try again in a few minutes; "
    "whoever runs me finds the reason in the log."
)
_THINKING: Final = discord.InteractionResponseType.deferred_channel_message
_FILLED: Final = "filled"
"""Among an interaction's extras once the message that said "thinking" holds an answer."""
EXPIRED: Final = frozenset({10062, 10015, 40060, 50027})
"""Codes of an interaction that can no longer be answered, or was answered already."""


async def say(
    interaction: Asked,
    text: str,
    *,
    view: discord.ui.View | None = None,
    files: Sequence[discord.File] = (),
) -> None:
    """Answer the asker alone. A text over three messages comes as a file with its beginning shown."""
    pieces = split(text)
    attached = list(files)
    if len(pieces) > MOST_MESSAGES:
        attached.append(text_file("answer.txt", text))
        shown = pieces[0] if len(pieces[0]) > LIMIT // 2 else text  # what stands before one very long line
        pieces = [f"{shown[: LIMIT - 40]}\n*… the whole text is attached.*"]
    for piece in pieces[:-1]:
        await _send(interaction, content=piece)
    last: dict[str, Any] = {"content": pieces[-1]}
    if view is not None:
        last["view"] = view
    if attached:
        last["files"] = attached
    await _send(interaction, **last)


async def _send(interaction: Asked, **message: Any) -> None:
    """What `think` acknowledged is answered by filling that message: where Discord fails after it took an
    answer, discord.py sends it again, and only so nothing stands there twice."""
    silent = discord.AllowedMentions.none()
    if not interaction.response.is_done():
        await interaction.response.send_message(**message, ephemeral=True, allowed_mentions=silent)
    elif interaction.response.type is _THINKING and _FILLED not in interaction.extras:
        if files := message.pop("files", None):
            message["attachments"] = files
        await interaction.edit_original_response(**message, allowed_mentions=silent)
        interaction.extras[_FILLED] = True
    else:
        await interaction.followup.send(**message, ephemeral=True, allowed_mentions=silent)


async def think(interaction: Asked) -> None:
    """Acknowledge at once; the private answer follows."""
    await interaction.response.defer(ephemeral=True, thinking=True)


def split(text: str, limit: int = LIMIT) -> list[str]:
    """Cut a text at line ends into pieces of at most `limit`; a longer line is cut hard. Never empty."""
    pieces, current = [], ""
    for line in text.split("\n"):
        while len(line) > limit:
            if current:
                pieces.append(current)
                current = ""
            pieces.append(line[:limit])
            line = line[limit:]
        joined = f"{current}\n{line}" if current else line
        if len(joined) > limit:
            pieces.append(current)
            joined = line
        current = joined
    pieces.append(current)
    return [piece for piece in pieces if piece.strip()] or ["*Nothing.*"]


def text_file(name: str, text: str) -> discord.File:
    """A text as an attachment."""
    return discord.File(io.BytesIO(text.encode()), filename=name)


def counted(number: int, one: str, many: str = "") -> str:
    """A number and what it counts; `many` is needed where an s does not make the plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shorten(text: str, limit: int) -> str:
    """One line of at most `limit` characters, with an ellipsis where it was cut."""
    line = " ".join(text.split(None, limit))  # so many words are more than is shown of a long text
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


# ---------------------------------------------------------------- failures
async def report(interaction: Asked, error: BaseException) -> None:
    """Log what is ours once, with a reference; tell the asker one sentence. Failing to answer is logged."""
    cause = _root(error)
    command = interaction.command.qualified_name if interaction.command else "a form or button"
    if isinstance(cause, discord.HTTPException) and cause.code in EXPIRED:
        log.info("%s: the interaction can no longer be answered (code %s)", command, cause.code)
        return
    text = _told(cause)
    if isinstance(cause, StorageError):
        log.error("%s could not be done: %s", command, cause)
        text = NOT_STORED
    elif text is None:
        reference = new_reference()
        log.error("%s failed (reference %s)", command, reference, exc_info=cause)
        text = (
            f"Something went wrong on my side (reference `{reference}`). It is in the log; please try again."
        )
    try:
        await say(interaction, text)
    except (discord.HTTPException, aiohttp.ClientError, OSError) as problem:
        log.info("%s: the answer did not arrive: %s", command, problem)


def _told(cause: BaseException) -> str | None:
    if isinstance(cause, UserFacing):
        return str(cause)
    if isinstance(cause, app_commands.CommandNotFound | app_commands.CommandSignatureMismatch):
        return "This command changed just now. Please reload Discord (Ctrl+R) and try again in a minute."
    if isinstance(cause, app_commands.NoPrivateMessage):
        return "This command works only in a server."
    return None


def _root(error: BaseException) -> BaseException:
    while isinstance(error, app_commands.CommandInvokeError | app_commands.TransformerError):
        if error.__cause__ is None:
            break
        error = error.__cause__
    return error


class Form(discord.ui.Modal):
    """A modal whose failures are reported like those of commands."""

    async def on_error(  # type: ignore[override]
        self, interaction: Asked, error: Exception, /
    ) -> None:
        await report(interaction, error)


class Buttons(discord.ui.View):
    """Buttons under a private answer; only its owner sees them. They die with the interaction's token."""

    def __init__(self) -> None:
        super().__init__(timeout=14 * 60)

    async def on_error(self, interaction: Asked, error: Exception, item: discord.ui.Item[Any], /) -> None:
        await report(interaction, error)
