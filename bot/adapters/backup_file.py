"""The file of a backup: a zip with the database, the trained heads, and a list of what is in it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Final

from bot.errors import StorageError

DATABASE: Final = "troupe.sqlite3"
HEADS: Final = "heads/"
_LIST: Final = "backup.json"
_README: Final = "README.txt"
_FORMAT: Final = 1
_CHUNK: Final = 1 << 20
_MOST_LIST_BYTES: Final = 1 << 20
_MALFORMED: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
)
_ABOUT: Final = """\
A backup of Troupe. It holds the database (personas with their pictures, scenes, everything said in them,
notes, memories, lore, settings) and emotion heads trained on the machine. It does not hold: the search index
(built again from the database), the list of who opted out and who was forgotten (DATA_DIR/privacy, which must
outlive backups), .env with the keys, the console's own folder, logs.
Put it back with: python -m bot restore FILE
"""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a backup says of itself."""

    made_at: datetime
    counts: Mapping[str, int]
    sizes: Mapping[str, int]
    """Bytes by name within the backup."""
    hashes: Mapping[str, str]
    """SHA-256 by name."""

    @property
    def bytes(self) -> int:
        """Unpacked, all together."""
        return sum(self.sizes.values())


def write_backup(
    target: Path, parts: Mapping[str, Path], counts: Mapping[str, int], made_at: datetime
) -> int:
    """Pack files under their names; how many bytes the backup has. A crash leaves the former file or the new.

    StorageError when it cannot be written. Blocks: call it in a thread.
    """
    beside = target.with_name(f"{target.name}.new")
    try:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as packed:
                packed.writestr(_README, _ABOUT)
                listed = {name: _pack(packed, name, path) for name, path in parts.items()}
                packed.writestr(
                    _LIST,
                    json.dumps(
                        {
                            "format": _FORMAT,
                            "made_at": made_at.isoformat(),
                            "counts": dict(counts),
                            "files": listed,
                        },
                        indent=1,
                    ),
                )
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
        return target.stat().st_size
    except OSError as problem:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise StorageError(
            f"{target} cannot be written ({problem.strerror}): name a file in a folder that this user may "
            "write to, on a disk with room"
        ) from problem


def read_contents(path: Path) -> Contents:
    """What is in it, as it says. StorageError when the file is no backup of Troupe."""
    with _reading(path) as packed:
        if packed.getinfo(_LIST).file_size > _MOST_LIST_BYTES:
            raise ValueError("too long a list")
        listed = json.loads(packed.read(_LIST))
        if listed["format"] != _FORMAT:
            raise StorageError(f"{path} was made by a newer Troupe. Restore it with that version.")
        files = {str(name): (int(size), str(digest)) for name, (size, digest) in listed["files"].items()}
        if DATABASE not in files or not all(map(_is_ours, files)):
            raise ValueError("other files than a backup has")
        return Contents(
            made_at=datetime.fromisoformat(listed["made_at"]),
            counts={str(name): int(count) for name, count in listed["counts"].items()},
            sizes={name: size for name, (size, _) in files.items()},
            hashes={name: digest for name, (_, digest) in files.items()},
        )


def unpack(path: Path, contents: Contents, folder: Path) -> None:
    """Write every file below `folder`. StorageError when one is not as listed, or there is no room."""
    with _reading(path) as packed:
        for name, size in contents.sizes.items():
            target = folder / name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with packed.open(name) as source, target.open("wb") as file:
                if _copied(source, file, size) != contents.hashes[name]:
                    raise StorageError(f"{path} is damaged ({name} is not whole). Use another backup.")
                file.flush()
                os.fsync(file.fileno())


def is_backup(path: Path) -> bool:
    """Whether a file that is there is a backup of Troupe."""
    try:
        read_contents(path)
    except StorageError:
        return False
    return True


def _pack(packed: zipfile.ZipFile, name: str, path: Path) -> tuple[int, str]:
    with path.open("rb") as source, packed.open(name, "w", force_zip64=True) as file:
        size = path.stat().st_size
        return size, _copied(source, file, size)


def _copied(source: IO[bytes], target: IO[bytes], size: int) -> str:
    """Copy; the hash. Never more than `size` bytes and one, so that a small file cannot fill the disk."""
    digest, left = hashlib.sha256(), size + 1
    while left > 0 and (chunk := source.read(min(_CHUNK, left))):
        digest.update(chunk)
        target.write(chunk)
        left -= len(chunk)
    return digest.hexdigest()


def _is_ours(name: str) -> bool:
    plain = name.removeprefix(HEADS)
    return name == DATABASE or (
        name.startswith(HEADS)
        and plain.endswith(".npz")
        and not set("/\\:\0") & set(plain)
        and plain[0] != "."
    )


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as packed:
            yield packed
    except OSError as problem:
        raise StorageError(f"{path} cannot be read or unpacked ({problem.strerror}).") from problem
    except _MALFORMED as problem:
        raise StorageError(f"{path} is no backup of Troupe, or it is damaged.") from problem
    except (RuntimeError, NotImplementedError) as problem:  # encrypted, or packed in a way of its own
        raise StorageError(f"{path} is no backup of Troupe.") from problem
