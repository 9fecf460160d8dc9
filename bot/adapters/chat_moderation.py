"""Asks an OpenAI-compatible server (`/moderations`) whether a text may be said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bot.adapters.chat_failures import Failure
from bot.adapters.chat_server import ChatServer, Timeouts
from bot.errors import ModerationUnavailable

SECONDS: Final = 8.0
"""An answer waits for this."""


class OpenAIModeration:
    """Fulfils `bot.core.moderation.Moderation`. One request for each text, never repeated."""

    def __init__(self, *, base_url: str, api_key: str, model: str = "") -> None:
        self._server = ChatServer(base_url=base_url, api_key=api_key, timeouts=Timeouts(total=SECONDS))
        self._model = model

    async def refuses(self, text: str) -> bool:
        """See the port. A server that marks any part of the text refuses it."""
        body = {"input": text, **({"model": self._model} if self._model else {})}
        found = await self._server.post("/moderations", body, purpose="moderation", seconds=SECONDS)
        if isinstance(found, Failure):
            raise ModerationUnavailable(f"{self._server.label}: {found.trouble.value} {found.text}".strip())
        results = found.get("results") if isinstance(found, Mapping) else None
        flags = [one.get("flagged") for one in results or () if isinstance(one, Mapping)]
        if not flags or not all(isinstance(flag, bool) for flag in flags):
            raise ModerationUnavailable(f"{self._server.label}: the answer holds no result")
        return any(flags)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()
