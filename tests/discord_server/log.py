"""What the server has seen: requests in order, and breaches of Discord's rules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class UploadedFile:
    """A file of a multipart request."""

    field_name: str
    filename: str
    content_type: str | None
    content: bytes = field(repr=False)


@dataclass
class RequestRecord:
    """One REST request and how it was answered; `at` is monotonic seconds."""

    index: int
    method: str
    path: str
    template: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    json: Any
    files: list[UploadedFile]
    at: float
    status: int | None = None
    code: int | None = None
    reply: Any = None
    fault: str | None = None

    def __str__(self) -> str:
        """Return one line for failure messages."""
        body = "" if self.json is None else " " + json.dumps(self.json, ensure_ascii=False)[:300]
        return f"{self.index} {self.method} {self.path} -> {self.status}{body}"


@dataclass(frozen=True)
class Violation:
    """A breach of the API's contract; kind is "request", "reply", "rule", "route" or "server"."""

    kind: str
    request: RequestRecord
    problem: str

    def __str__(self) -> str:
        """Return one readable line."""
        return f"[{self.kind}] {self.problem} in {self.request}"
