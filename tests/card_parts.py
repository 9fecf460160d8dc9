"""Builds the files that people send as character cards, good and broken ones."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from typing import Any

from PIL import Image

LORE_ENTRY = {
    "keys": ["ferry"],
    "content": "It never moors.",
    "enabled": True,
    "insertion_order": 1,
    "extensions": {},
}
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def v1(**changes: Any) -> dict[str, Any]:
    """A flat card."""
    texts = {"description": "A ferrywoman.", "personality": "dry", "scenario": "", "mes_example": ""}
    return {"name": "Mira", **texts, "first_mes": "Hop in.", **changes}


def v3(name: str = "Mira", *, root: dict[str, Any] | None = None, **data: Any) -> dict[str, Any]:
    """A card V3."""
    return {**(root or {}), "spec": "chara_card_v3", "spec_version": "3.0", "data": v1(name=name, **data)}


def v2(name: str = "Mira", *, root: dict[str, Any] | None = None, **data: Any) -> dict[str, Any]:
    """A card V2."""
    return {**v3(name, root=root, **data), "spec": "chara_card_v2", "spec_version": "2.0"}


def packed(card: Any) -> bytes:
    """The value of a text chunk."""
    return base64.b64encode(json.dumps(card).encode())


def chunk(kind: bytes, body: bytes, *, checksum: int | None = None) -> bytes:
    """A PNG chunk."""
    right = zlib.crc32(kind + body)
    return (
        struct.pack(">I", len(body))
        + kind
        + body
        + struct.pack(">I", right if checksum is None else checksum)
    )


def text(keyword: bytes, value: bytes) -> bytes:
    """tEXt."""
    return chunk(b"tEXt", keyword + b"\0" + value)


def ztext(keyword: bytes, value: bytes) -> bytes:
    """zTXt."""
    return chunk(b"zTXt", keyword + b"\0\0" + zlib.compress(value))


def itext(keyword: bytes, value: bytes, *, packed: bool = False) -> bytes:
    """iTXt, compressed or not, with a language and a translated keyword."""
    flags = b"\x01\0" if packed else b"\0\0"
    return chunk(
        b"iTXt", keyword + b"\0" + flags + b"en\0karte\0" + (zlib.compress(value) if packed else value)
    )


def png(
    *after: bytes, before: tuple[bytes, ...] = (), side: int = 8, idats: int = 1, claimed: int = 0
) -> bytes:
    """A red square with chunks before and after the picture data, split over several IDATs if wanted; the
    header may claim another size."""
    pixels = zlib.compress((b"\0" + b"\xff\0\0" * side) * side)
    step = -(-len(pixels) // idats)
    parts = [chunk(b"IDAT", pixels[at : at + step]) for at in range(0, len(pixels), step)]
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", claimed or side, claimed or side, 8, 2, 0, 0, 0))
    return b"".join([SIGNATURE, head, *before, *parts, *after, chunk(b"IEND", b"")])


def apng(*after: bytes) -> bytes:
    """A picture of two frames."""
    target = io.BytesIO()
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(target, "PNG", save_all=True, append_images=frames[1:], duration=100)
    return target.getvalue()[:-12] + b"".join(after) + chunk(b"IEND", b"")


def picture(form: str, size: tuple[int, int] = (8, 8)) -> bytes:
    """A picture without a card."""
    target = io.BytesIO()
    Image.new("RGB", size, "red").save(target, form)
    return target.getvalue()


def charx(card: Any | None, **files: bytes) -> bytes:
    """A zip with card.json; double underscores in names are slashes, `DOT` a dot."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        if card is not None:
            archive.writestr("card.json", json.dumps(card))
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("DOT", "."), content)
    return target.getvalue()


def encrypted(raw: bytes) -> bytes:
    """The same archive with the flag of encryption set on every file."""
    marked = bytearray(raw)
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.find(magic)
        while at >= 0:
            marked[at + offset] |= 1
            at = raw.find(magic, at + 1)
    return bytes(marked)
