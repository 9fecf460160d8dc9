"""Reads and writes the text chunks of PNG and APNG files without decoding the picture."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
LARGEST_TEXT: Final = 10 * 1024 * 1024
"""Bytes that all text chunks of a file may inflate to."""
_TEXT_KINDS: Final = (b"tEXt", b"zTXt", b"iTXt")


class BadPng(Exception):
    """What is wrong, in a sentence for people."""


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A keyword and its text, inflated. `sound` is false when the checksum disagrees."""

    keyword: str
    text: bytes
    sound: bool = True


@dataclass(frozen=True, slots=True)
class _Chunk:
    kind: bytes
    body: bytes
    whole: bytes
    sound: bool


def is_png(raw: bytes) -> bool:
    """Whether the bytes begin like a PNG."""
    return raw.startswith(SIGNATURE)


def text_chunks(raw: bytes, keywords: Sequence[str]) -> list[TextChunk]:
    """Return the text chunks with these keywords (case folded), wherever they stand in the file.

    A file that ends too early is read as far as it goes. Raises BadPng when the texts inflate to more than
    10 MiB.
    """
    found: list[TextChunk] = []
    left = LARGEST_TEXT
    for chunk in _chunks(raw):
        keyword, _, rest = chunk.body.partition(b"\0")
        name = keyword.decode("latin-1").strip().lower()
        if chunk.kind not in _TEXT_KINDS or name not in keywords:
            continue
        text = _text(chunk.kind, rest, left)
        if text is not None:
            left -= len(text)
            found.append(TextChunk(name, text, chunk.sound))
    return found


def with_text_chunks(raw: bytes, texts: Sequence[tuple[str, bytes]]) -> bytes:
    """Return the PNG with these tEXt chunks before its end, and without others of the same keywords.

    Raises BadPng when it is not a whole PNG.
    """
    chunks = list(_chunks(raw)) if is_png(raw) else []
    if not chunks or chunks[-1].kind != b"IEND":
        raise BadPng("This is not a whole PNG.")
    keywords = {keyword for keyword, _ in texts}
    kept = [
        chunk.whole
        for chunk in chunks[:-1]
        if chunk.kind not in _TEXT_KINDS
        or chunk.body.partition(b"\0")[0].decode("latin-1").lower() not in keywords
    ]
    added = [_written(b"tEXt", keyword.encode("latin-1") + b"\0" + text) for keyword, text in texts]
    return b"".join([SIGNATURE, *kept, *added, chunks[-1].whole])


def _chunks(raw: bytes) -> Iterator[_Chunk]:
    at = len(SIGNATURE)
    while at + 12 <= len(raw):
        (length,) = struct.unpack_from(">I", raw, at)
        end = at + 12 + length
        if end > len(raw):
            return
        kind, body = raw[at + 4 : at + 8], raw[at + 8 : end - 4]
        (checksum,) = struct.unpack_from(">I", raw, end - 4)
        yield _Chunk(kind, body, raw[at:end], checksum == zlib.crc32(raw[at + 4 : end - 4]))
        if kind == b"IEND":
            return
        at = end


def _text(kind: bytes, rest: bytes, left: int) -> bytes | None:
    """Return the chunk's text; None when it is compressed in a way we do not know, or damaged."""
    if kind == b"tEXt":
        return _checked(rest, left)
    if kind == b"zTXt":
        return _inflated(rest[1:], left) if rest[:1] == b"\0" else None
    flags, after = rest[:2], rest[2:].split(b"\0", 2)
    if len(flags) < 2 or len(after) < 3:
        return None
    if flags[0]:
        return _inflated(after[2], left) if flags[1] == 0 else None
    return _checked(after[2], left)


def _checked(text: bytes, left: int) -> bytes:
    if len(text) > left:
        raise BadPng("The texts in this picture are larger than 10 MiB.")
    return text


def _inflated(packed: bytes, left: int) -> bytes | None:
    inflater = zlib.decompressobj()
    try:
        return _checked(inflater.decompress(packed, left + 1), left)
    except zlib.error:
        return None


def _written(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
