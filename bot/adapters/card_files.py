"""Reads character cards from files of any kind, told by their content, and writes them again."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from bot.adapters.avatars import draw_picture
from bot.adapters.card_picture import BadPicture, card_picture
from bot.adapters.charx import BadCharx, Charx, new_charx
from bot.adapters.png_chunks import LARGEST_TEXT, BadPng, TextChunk, is_png, text_chunks, with_text_chunks
from bot.core.card_file import CardFile, is_lorebook, read_card, report_of, v2_card, v3_card
from bot.errors import UserFacing

LARGEST_FILE: Final = 10 * 1024 * 1024
TIMEOUT_S: Final = 30.0
_KEYWORDS: Final = ("ccv3", "chara")
"""The better one first."""
_PICTURES: Final = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"\0\0\0\x1cftypavif", "AVIF"),
)
_ARCHIVES: Final = ((b"Rar!", "RAR"), (b"7z\xbc\xaf", "7z"), (b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"))
_YAML: Final = re.compile(
    r"^(?:---\s*\n)?\s*(?:name|context|greeting|char_name|example_dialogue)\s*:", re.MULTILINE
)
_NO_CARD: Final = (
    "There is no card in this picture. Character cards are PNG files that carry the card's text."
)


async def read_card_file(raw: bytes, filename: str = "") -> CardFile:
    """Return the card in these bytes, whatever the file is called, off the event loop.

    `UserFacing`, with what is wrong, when they hold no card or pass a limit. Nothing is ever fetched.
    """
    async with asyncio.timeout(TIMEOUT_S):
        return await asyncio.to_thread(_read, raw, filename)


async def read_lorebook_file(raw: bytes, filename: str = "") -> Mapping[str, Any]:
    """Return the lorebook or world file as it is, or a card's lorebook. `UserFacing` when there is none."""
    async with asyncio.timeout(TIMEOUT_S):
        return await asyncio.to_thread(_read_lorebook, raw, filename)


async def write_card_png(data: Mapping[str, Any], avatar: bytes | None) -> bytes:
    """Return a PNG with the card as V2 (`chara`) and V3 (`ccv3`); a drawn picture when there is no avatar."""
    return await asyncio.to_thread(_write_png, data, avatar)


async def write_card_json(data: Mapping[str, Any]) -> bytes:
    """Return the card V3 as JSON, in UTF-8."""
    return await asyncio.to_thread(lambda: _dumped(v3_card(data), indent=2))


async def write_card_charx(data: Mapping[str, Any], avatar: bytes | None, archive: bytes | None) -> bytes:
    """Return a CHARX of the card and its picture, with the other files of the archive it came in.

    `UserFacing` when it would be larger than a file that can be sent and imported again."""
    return await asyncio.to_thread(_write_charx, data, avatar, archive)


# ---------------------------------------------------------------- reading
def _read(raw: bytes, filename: str) -> CardFile:
    _check_size(raw)
    name = _stem(filename)
    try:
        if is_png(raw):
            return _from_png(raw, name)
        if _is_zip(raw):
            return _from_charx(raw, name)
        _refuse_other_kinds(raw)
        data, mended = read_card(_json(raw), name)
        return CardFile(data, report_of(data, "JSON", mended))
    except (ValueError, BadPng, BadCharx) as problem:
        raise UserFacing(str(problem)) from problem


def _read_lorebook(raw: bytes, filename: str) -> Mapping[str, Any]:
    _check_size(raw)
    try:
        found = None if is_png(raw) or _is_zip(raw) else _text_object(raw)
    except ValueError as problem:
        raise UserFacing(str(problem)) from problem
    if isinstance(found, Mapping) and is_lorebook(found):
        return found
    try:
        book = _read(raw, filename).data.get("character_book")
    except UserFacing as problem:
        if found is None:
            raise
        raise UserFacing("This is neither a lorebook with `entries` nor a character card.") from problem
    if not isinstance(book, Mapping) or not book.get("entries"):
        raise UserFacing("This is a character card without a lorebook. `/persona import` takes it.")
    return book


def _text_object(raw: bytes) -> Any:
    _refuse_other_kinds(raw)
    return _json(raw)


def _from_png(raw: bytes, name: str) -> CardFile:
    chunks = text_chunks(raw, _KEYWORDS)
    if not chunks:
        raise ValueError(_NO_CARD)
    notes: list[str] = []
    problem: ValueError | None = None
    for chunk in sorted(chunks, key=lambda chunk: _KEYWORDS.index(chunk.keyword)):
        try:
            data, mended = read_card(_chunk_json(chunk), name)
        except ValueError as error:
            problem = problem or error
            notes.append(f"The `{chunk.keyword}` part of the picture is broken; another one was used.")
            continue
        if not chunk.sound:
            notes.append(f"The checksum of the `{chunk.keyword}` part is wrong; its text could be read.")
        avatar, trouble = _picture(raw)
        return CardFile(data, report_of(data, "PNG", (*notes, *mended, *trouble)), avatar)
    assert problem is not None
    raise problem


def _from_charx(raw: bytes, name: str) -> CardFile:
    archive = Charx(raw)
    data, mended = read_card(_json(archive.card()), name)
    avatar: bytes | None = None
    trouble: list[str] = []
    icon = archive.icon(data)
    if icon is not None:
        avatar, trouble = _picture(icon)
    others = archive.others - (icon is not None)
    kept = others > 0 and archive.is_sound()
    if others:
        how = "kept for `/persona export format:charx`" if kept else "not kept: one of them is damaged"
        trouble.append(f"Its {others} other files (pictures, sounds) are {how}.")
    report = report_of(data, "CHARX", (*mended, *trouble))
    return CardFile(data, report, avatar, archive=raw if kept else None)


def _picture(raw: bytes) -> tuple[bytes | None, list[str]]:
    try:
        return card_picture(raw), []
    except BadPicture as problem:
        return None, [f"Its picture was left out: {problem}. A drawn one is used."]


def _check_size(raw: bytes) -> None:
    if len(raw) > LARGEST_FILE:
        raise UserFacing(f"This file has {len(raw) / 2**20:.1f} MiB; the limit is 10 MiB.")
    if not raw.strip():
        raise UserFacing("This file is empty.")


def _is_zip(raw: bytes) -> bool:
    """Some tools write the archive behind a JPEG."""
    return raw.startswith(b"PK") or (raw.startswith(b"\xff\xd8\xff") and b"card.json" in raw[-65_536:])


def _refuse_other_kinds(raw: bytes) -> None:
    riff = raw.startswith(b"RIFF") and raw[8:12] == b"WEBP"
    picture = next((name for magic, name in _PICTURES if raw.startswith(magic)), "WebP" if riff else None)
    if picture:
        raise ValueError(f"This is a {picture} picture. {_NO_CARD}")
    archive = next((name for magic, name in _ARCHIVES if raw.startswith(magic)), None)
    if archive:
        raise ValueError(f"This is a {archive} archive. A CHARX card is a zip archive with a card.json.")


def _chunk_json(chunk: TextChunk) -> object:
    """Decode what a text chunk holds: JSON in base64, or bare."""
    if chunk.text.lstrip()[:1] == b"{":
        return _json(chunk.text)
    packed = re.sub(rb"\s+", b"", chunk.text).translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    try:
        return _json(base64.b64decode(packed + b"=" * (-len(packed) % 4), validate=True))
    except binascii.Error as problem:
        raise ValueError("The card in this picture is damaged: its text is no base64.") from problem


def _json(raw: bytes) -> object:
    if len(raw) > LARGEST_TEXT:
        raise ValueError("The text of this card is larger than 10 MiB.")
    text = _decoded(raw)
    try:
        return json.loads(text, strict=False)
    except RecursionError as problem:
        raise ValueError("This card is nested too deep, so it cannot be read.") from problem
    except ValueError as problem:
        if _YAML.search(text[:4000]) and not text.lstrip().startswith(("{", "[")):
            raise ValueError(
                "This looks like a YAML persona, which cannot be imported. Save it as a JSON character card, "
                "or use `/persona create` and paste its texts."
            ) from problem
        where = f" (line {problem.lineno})" if isinstance(problem, json.JSONDecodeError) else ""
        raise ValueError(f"This file cannot be read: its text is not valid JSON{where}.") from problem


def _decoded(raw: bytes) -> str:
    wide = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        return raw.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ValueError(
            "This is no character card: neither a picture with one, nor an archive, nor text."
        ) from problem


def _stem(filename: str) -> str:
    return re.sub(r"[_\s]+", " ", PurePath(filename.replace("\\", "/")).stem).strip()


# ---------------------------------------------------------------- writing
def _write_png(data: Mapping[str, Any], avatar: bytes | None) -> bytes:
    texts = [("chara", _packed(v2_card(data))), ("ccv3", _packed(v3_card(data)))]
    try:
        return with_text_chunks(avatar or draw_picture(str(data.get("name", ""))), texts)
    except BadPng:
        return with_text_chunks(draw_picture(str(data.get("name", ""))), texts)


def _write_charx(data: Mapping[str, Any], avatar: bytes | None, archive: bytes | None) -> bytes:
    card = _dumped(v3_card(data), indent=2)
    if archive is None:
        made = new_charx(card, avatar or draw_picture(str(data.get("name", ""))))
    else:
        former = Charx(archive)
        icon = former.icon(data)
        same = avatar is None or (icon is not None and _picture(icon)[0] == avatar)
        made = former.rewritten(card, data, None if same else avatar)
    if len(made) > LARGEST_FILE:
        raise UserFacing("The archive would be larger than 10 MiB. Please take format:png or format:json.")
    return made


def _packed(card: Mapping[str, Any]) -> bytes:
    return base64.b64encode(_dumped(card))


def _dumped(card: Mapping[str, Any], indent: int | None = None) -> bytes:
    return json.dumps(card, ensure_ascii=False, indent=indent).encode("utf-8", "replace")
