"""Logging of the process: one form of line with ids, no control characters, no secrets, quiet libraries."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Collection
from typing import Final, TextIO

IDS: Final = ("space_id", "place_id", "scene_id", "persona_id", "turn_id", "message_id", "reference")
"""What a record may carry in `extra`; each stands behind the message as `place=123`."""

_QUIET: Final = {
    "discord": logging.INFO,  # at debug it writes whole events, and webhook tokens with them
    "discord.gateway": logging.WARNING,
    "openai": logging.WARNING,
    "httpx": logging.WARNING,
    "httpx2": logging.WARNING,
    "httpcore": logging.WARNING,
    "httpcore2": logging.WARNING,
    "asyncio": logging.WARNING,
    "aiosqlite": logging.WARNING,
    "alembic": logging.WARNING,
    "sqlalchemy": logging.WARNING,
    "filelock": logging.WARNING,
    "lance": logging.WARNING,
    "lancedb": logging.WARNING,
    "transformers": logging.ERROR,  # our own error says it once and better
    "sentence_transformers": logging.ERROR,
    "huggingface_hub": logging.ERROR,
    "PIL": logging.WARNING,
    "urllib3": logging.WARNING,
}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_CONTROL_BUT_LINES: Final = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+"
)
_TOKENS: Final = re.compile(r"(?i)(/webhooks/\d+/|/interactions/\d+/|\b(?:bearer|bot) )[\w.~-]{16,}")
_HIDDEN: Final = "[hidden]"


class LineFormatter(logging.Formatter):
    """A record as one line, with a traceback (several lines, indented) where there is one.

    Texts that members wrote cannot forge a line: control characters become a space. `secrets` and the
    tokens of webhooks and headers are replaced wherever they stand.
    """

    def __init__(self, secrets: Collection[str] = ()) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S%z")
        self._secrets = sorted((secret for secret in secrets if secret), key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        head = f"{self.formatTime(record, self.datefmt)} {record.levelname:<7} {record.name}: "
        line = head + _CONTROL.sub(" ", record.getMessage()).strip() + _ids(record)
        if record.exc_info:
            line += "\n" + _indented(self.formatException(record.exc_info))
        if record.stack_info:
            line += "\n" + _indented(record.stack_info)
        return self._without_secrets(line)

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return _TOKENS.sub(rf"\g<1>{_HIDDEN}", text)


def set_up(level: str, secrets: Collection[str] = (), stream: TextIO | None = None) -> None:
    """Send the process's log to `stream` (standard error). `level` is a name such as `info`."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter(secrets))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(True)
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(max(least, logging.getLogger().level))


def _ids(record: logging.LogRecord) -> str:
    present = [(name.removesuffix("_id"), getattr(record, name, None)) for name in IDS]
    shown = " ".join(f"{name}={value}" for name, value in present if value is not None)
    return f" [{_CONTROL.sub(' ', shown)}]" if shown else ""


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in _CONTROL_BUT_LINES.sub(" ", text).split("\n"))
