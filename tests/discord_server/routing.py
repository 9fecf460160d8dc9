"""What a REST route gets and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import ApiError
from .log import RequestRecord
from .world import World

if TYPE_CHECKING:
    from .server import DiscordServer


@dataclass(frozen=True)
class Reply:
    """A successful answer; without a body it is empty."""

    status: int
    body: Any = None


@dataclass(frozen=True)
class Call:
    """One request on its way to a handler, which returns JSON (200), None (204) or a Reply."""

    server: DiscordServer
    record: RequestRecord

    @property
    def world(self) -> World:
        """The state the handler works on."""
        return self.server.world

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object of the request, empty when there was none."""
        return self.record.json if isinstance(self.record.json, dict) else {}

    def id(self, name: str) -> int:
        """Return an id from the path. Raises 400 when it is no number."""
        return number(self.record.params[name])

    def text(self, name: str) -> str:
        """Return a text from the path."""
        return self.record.params[name]

    def query_id(self, name: str) -> int | None:
        """Return an id from the query, None when absent."""
        value = self.record.query.get(name)
        return None if value is None else number(value)

    def flag(self, name: str) -> bool:
        """Return a boolean of the query."""
        return self.record.query.get(name, "").lower() in ("1", "true")


def number(text: str) -> int:
    """Return a snowflake from its text form. Raises 400 as Discord does for anything else."""
    if not text.isdigit():
        raise ApiError(400, 50035, "Invalid Form Body", {"id": {"_errors": [{"message": "not a snowflake"}]}})
    return int(text)


Handler = Callable[[Call], Any]
Route = tuple[str, str, Handler]
