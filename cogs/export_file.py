"""An export as zip files that people can read, each small enough to be sent."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Final

from bot.core.privacy import Export

RECORDS: Final = 2000
"""Records in one file of the zip."""
LARGEST: Final = 8 * 1024 * 1024
"""Bytes of one zip; Discord takes ten million from everybody."""
_ABOUT: Final = """\
Everything that this bot keeps about you, one file for each kind. The files are JSON, which any editor shows.
Times are UTC. Ids of servers, channels and messages are Discord's; "from_turns" holds the "id" of messages.
A kind that is missing is empty. Feelings are numbers from 1 (none) to 10.
"""


def zipped(export: Export, *, opted_out: bool, largest: int = LARGEST) -> list[bytes]:
    """The whole export in as few zip files as fit. Uses the processor: call it in a thread."""
    made: list[bytes] = []
    buffer, archive = _begin()
    for name, content in _files(export, opted_out):
        packed = _packed_size(content)
        if buffer.tell() + packed > largest and archive.namelist():
            archive.close()
            made.append(buffer.getvalue())
            buffer, archive = _begin()
        archive.writestr(name, content)
    archive.close()
    return [*made, buffer.getvalue()]


def _begin() -> tuple[io.BytesIO, zipfile.ZipFile]:
    buffer = io.BytesIO()
    return buffer, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED)


def _packed_size(content: bytes) -> int:
    probe = io.BytesIO()
    with zipfile.ZipFile(probe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", content)
    return len(probe.getvalue()) + 1000


def _files(export: Export, opted_out: bool) -> Iterator[tuple[str, bytes]]:
    yield "README.txt", _ABOUT.encode()
    yield "opt_out.json", _json({"opted_out": opted_out})
    for topic, records in export.items():
        for start in range(0, len(records), RECORDS):
            number = "" if len(records) <= RECORDS else f"_{start // RECORDS + 1}"
            yield f"{topic}{number}.json", _json(list(records[start : start + RECORDS]))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode()
