"""The error answers of the loopback Discord, with Discord's own status and code numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ScriptError(AssertionError):
    """A test script asked for something that a real user of Discord could not do."""


class ApiError(Exception):
    """A request is refused; becomes an HTTP answer with Discord's JSON error body."""

    def __init__(
        self,
        status: int,
        code: int,
        message: str,
        errors: Mapping[str, Any] | None = None,
        *,
        rule: bool = False,
    ) -> None:
        """Keep the parts of the answer. `rule` marks a breach of a platform rule: a violation too."""
        super().__init__(f"{status} ({code}): {message}")
        self.status = status
        self.code = code
        self.message = message
        self.errors = errors
        self.rule = rule

    def body(self) -> dict[str, Any]:
        """Return the JSON body of the answer."""
        body: dict[str, Any] = {"message": self.message, "code": self.code}
        if self.errors:
            body["errors"] = self.errors
        return body


_UNKNOWN = {
    "Channel": 10003,
    "Guild": 10004,
    "Member": 10007,
    "Message": 10008,
    "Role": 10011,
    "User": 10013,
    "Emoji": 10014,
    "Webhook": 10015,
    "Interaction": 10062,
    "application command": 10063,
}


def unknown(what: str) -> ApiError:
    """Return the 404 for a missing object, for example `unknown("Message")` with code 10008."""
    return ApiError(404, _UNKNOWN[what], f"Unknown {what}")


def missing_access() -> ApiError:
    """Return the 403 for a channel or guild the bot cannot see."""
    return ApiError(403, 50001, "Missing Access")


def missing_permissions() -> ApiError:
    """Return the 403 for an action the bot has no permission for."""
    return ApiError(403, 50013, "Missing Permissions")


def invalid_form(problems: Mapping[str, str]) -> ApiError:
    """Return the 400 of a body that breaks limits; `problems` maps dotted fields to what is wrong."""
    errors: dict[str, Any] = {}
    for path, message in problems.items():
        place = errors
        for part in path.split("."):
            place = place.setdefault(part, {})
        place.setdefault("_errors", []).append({"code": "BASE_TYPE_INVALID", "message": message})
    return ApiError(400, 50035, "Invalid Form Body", errors, rule=True)


def empty_message() -> ApiError:
    """Return the 400 of a message that shows nothing."""
    return ApiError(400, 50006, "Cannot send an empty message", rule=True)
