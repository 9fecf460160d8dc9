"""Who opted out and who was erased: keyed hashes in a small file that must stay out of backups."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import secrets
import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bot.adapters.whole_file import write_whole
from bot.errors import StorageError

FOLDER: Final = "privacy"
_KEY: Final = "key"
_LEDGER: Final = "ledger.json"
_README: Final = "README.txt"
_ABOUT: Final = """\
Who opted out and who asked to be forgotten, as keyed hashes. Leave this folder OUT of backups, and keep it
as it is when you put a backup back: at the next start the bot then forgets again whoever asked for it.
Without the file `key` the hashes say nothing; without this folder opt-outs are lost.
"""
_KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class _Entries:
    opted_out: dict[str, str] = field(default_factory=dict)
    """Keyed hash to the time since when, in ISO form."""
    erased: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Keyed hash to the entry's number and time."""


class FileLedger:
    """`bot.core.privacy.PrivacyLedger` in a folder of its own. One process owns it."""

    def __init__(self, *, folder: Path, key: bytes, entries: _Entries) -> None:
        """Use `open_ledger`."""
        self._folder = folder
        self._key = key
        self._entries = entries
        self._written = True
        """Whether the file holds the entries."""
        self._changing = asyncio.Lock()
        self._file = threading.Lock()  # a thread goes on when the one who asked is gone

    # ------------------------------------------------------------ reading
    def opted_out(self, member_id: int) -> bool:
        return bool(self._entries.opted_out) and self._hash(member_id) in self._entries.opted_out

    @property
    def anyone_out(self) -> bool:
        return bool(self._entries.opted_out)

    def erased_at(self, some_id: int) -> datetime | None:
        found = self._entries.erased.get(self._hash(some_id)) if self._entries.erased else None
        return datetime.fromisoformat(found[1]) if found else None

    def is_pending(self, some_id: int, *, after: int) -> bool:
        found = self._entries.erased.get(self._hash(some_id))
        return found is not None and found[0] > after

    @property
    def newest(self) -> int:
        return max((number for number, _ in self._entries.erased.values()), default=0)

    # ------------------------------------------------------------ writing
    async def opt_out(self, member_id: int) -> bool:
        key = self._hash(member_id)
        async with self._changing:
            if key in self._entries.opted_out and self._written:
                return False
            out = {**self._entries.opted_out, key: datetime.now(UTC).isoformat()}
            await self._keep(replace(self._entries, opted_out=out))
        return True

    async def opt_in(self, member_id: int) -> bool:
        key = self._hash(member_id)
        async with self._changing:
            if key not in self._entries.opted_out and self._written:
                return False
            out = {known: since for known, since in self._entries.opted_out.items() if known != key}
            await self._keep(replace(self._entries, opted_out=out))
        return True

    async def erased(self, some_id: int, *, at: datetime) -> int:
        async with self._changing:
            number = max(self.newest + 1, int(at.timestamp() * 1000))
            erased = {**self._entries.erased, self._hash(some_id): (number, at.isoformat())}
            await self._keep(replace(self._entries, erased=erased))
        return number

    # ------------------------------------------------------------ inside
    def _hash(self, some_id: int) -> str:
        return hmac.new(self._key, str(some_id).encode(), hashlib.sha256).hexdigest()

    async def _keep(self, entries: _Entries) -> None:
        """It holds from now on; one that cannot be written is written when somebody asks again."""
        self._entries, self._written = entries, False
        try:
            await asyncio.to_thread(self._write)
        except OSError as problem:
            raise StorageError(f"{self._folder / _LEDGER} cannot be written: {problem.strerror}") from problem
        self._written = True

    def _write(self) -> None:
        with self._file:
            newest = {"opted_out": self._entries.opted_out, "erased": self._entries.erased}
            write_whole(self._folder / _LEDGER, json.dumps(newest, sort_keys=True, indent=1).encode())


def open_ledger(data_dir: Path) -> FileLedger:
    """The ledger of a data folder, begun when missing. Blocks for a moment; StorageError when unreadable.

    A key that is lost while the ledger is there is an error, not a new beginning: opt-outs would be void.
    """
    folder = data_dir / FOLDER
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (folder / _README).exists():
            write_whole(folder / _README, _ABOUT.encode())
        return FileLedger(folder=folder, key=_read_key(folder), entries=_read_entries(folder / _LEDGER))
    except OSError as problem:
        raise StorageError(
            f"{folder} cannot be used ({problem.strerror}): give Troupe's user the right to write there"
        ) from problem


def _read_key(folder: Path) -> bytes:
    path = folder / _KEY
    with contextlib.suppress(FileNotFoundError, ValueError):
        key = bytes.fromhex(path.read_text("ascii").strip())
        if len(key) == _KEY_BYTES:
            return key
    if (folder / _LEDGER).exists():
        raise StorageError(
            f"{path} is missing or damaged, so nobody's opt-out can be recognised. Put the file back, or, "
            f"if it is lost, remove {folder / _LEDGER} and tell your members to opt out again."
        )
    key = secrets.token_bytes(_KEY_BYTES)
    write_whole(path, key.hex().encode())
    return key


def _read_entries(path: Path) -> _Entries:
    if not path.exists():
        return _Entries()
    try:
        kept = json.loads(path.read_text("utf-8"))
        erased = {key: (int(number), str(at)) for key, (number, at) in kept["erased"].items()}
        return _Entries({str(key): str(at) for key, at in kept["opted_out"].items()}, erased)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise StorageError(
            f"{path} is damaged, so nobody's opt-out can be recognised. Put a good copy in its place, or "
            "remove it and tell your members to opt out again."
        ) from problem
