"""Reads and writes CHARX archives (zip) in memory. Nothing is ever unpacked to disk."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

LARGEST_CARD: Final = 10 * 1024 * 1024
LARGEST_PICTURE: Final = 10 * 1024 * 1024
MOST_MEMBERS: Final = 2000
LARGEST_TOTAL: Final = 40 * 1024 * 1024
_CARD: Final = "card.json"
_ICON: Final = "assets/icon/main.png"
"""Where the icon lies when the card does not say."""
_PREFIXES: Final = ("embeded://", "embedded://")


class BadCharx(Exception):
    """What is wrong, in a sentence for people."""


class Charx:
    """An opened archive whose directory was checked: names, sizes and encryption."""

    def __init__(self, raw: bytes) -> None:
        """Raises BadCharx when the archive is damaged, encrypted, unsafe or a bomb."""
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(raw))
        except (
            zipfile.BadZipFile,
            zipfile.LargeZipFile,
            ValueError,
            OSError,
            NotImplementedError,
        ) as problem:
            raise BadCharx("This archive is damaged, so it cannot be read.") from problem
        self._members = {member.filename: member for member in self._zip.infolist() if not member.is_dir()}
        self._check()

    def _check(self) -> None:
        members = self._members.values()
        if len(members) > MOST_MEMBERS:
            raise BadCharx(
                f"This archive holds {len(members):,} files; a CHARX has at most {MOST_MEMBERS:,}."
            )
        if any(_unsafe(name) for name in self._members):
            raise BadCharx("This archive names files outside of itself (`../`), so it is refused.")
        if any(member.flag_bits & 0x1 for member in members):
            raise BadCharx("This archive is encrypted. Please send it without a password.")
        if sum(member.file_size for member in members) > LARGEST_TOTAL:
            raise BadCharx("This archive would unpack to more than 40 MiB, so it is refused.")

    @property
    def others(self) -> int:
        """How many files there are besides the card."""
        return len(self._members) - (_CARD in self._members)

    def card(self) -> bytes:
        """Return card.json. Raises BadCharx when there is none, or it is too large or damaged."""
        if _CARD not in self._members:
            raise BadCharx("This archive holds no card.json, so it is not a character card.")
        return self._read(_CARD, LARGEST_CARD, "Its card.json is larger than 10 MiB.")

    def icon(self, data: Mapping[str, Any]) -> bytes | None:
        """Return the bytes of the card's main icon, or None. Addresses on the web are never fetched."""
        name = self._icon_name(data)
        return self._read(name, LARGEST_PICTURE, "Its icon is larger than 10 MiB.") if name else None

    def is_sound(self) -> bool:
        """Tell whether every file can be read."""
        try:
            for name in self._members:
                self._read(name, LARGEST_TOTAL, "")
        except BadCharx:
            return False
        return True

    def rewritten(self, card: bytes, data: Mapping[str, Any], icon: bytes | None) -> bytes:
        """Return the archive with another card.json, and with another icon if one is given; all other files
        are as they were. The archive `is_sound`."""
        changed = {_CARD: card}
        if icon is not None:
            changed[self._icon_name(data) or _ICON] = icon
        others = [name for name in self._members if name not in changed]
        return _zipped(changed | {name: self._read(name, LARGEST_TOTAL, "") for name in others})

    def _icon_name(self, data: Mapping[str, Any]) -> str | None:
        return next((name for name in _icon_names(data.get("assets")) if name in self._members), None)

    def _read(self, name: str, limit: int, too_large: str) -> bytes:
        try:
            with self._zip.open(self._members[name]) as opened:
                content = opened.read(limit + 1)
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            RuntimeError,
            NotImplementedError,
        ) as problem:
            raise BadCharx(f"{name} in this archive is damaged, so it cannot be read.") from problem
        if len(content) > limit:
            raise BadCharx(too_large)
        return content


def new_charx(card: bytes, icon: bytes) -> bytes:
    """Return an archive of a card.json and its icon (a PNG)."""
    return _zipped({_CARD: card, _ICON: icon})


def _zipped(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def _unsafe(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or name.startswith(("/", "\\")) or ":" in parts[0]


def _icon_names(assets: object) -> Sequence[str]:
    """Return the paths of the icons inside the archive, the one called main first."""
    if not isinstance(assets, list):
        return [_ICON]
    icons = [one for one in assets if isinstance(one, Mapping) and one.get("type") == "icon"]
    icons.sort(key=lambda one: one.get("name") != "main")
    found = []
    for one in icons:
        uri = str(one.get("uri", ""))
        prefix = next((prefix for prefix in _PREFIXES if uri.startswith(prefix)), None)
        if prefix is not None:
            found.append(uri.removeprefix(prefix).lstrip("/"))
        elif uri.startswith("ccdefault:"):
            found.append(_ICON)
    return found
