"""`DATA_DIR/aside`: copies of the database that are on their way into a backup or were replaced by one."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import time
from datetime import datetime
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

FOLDER: Final = "aside"
KEPT_S: Final = 24 * 3600.0
"""For so long what a restore replaced is kept: a copy must not outlive a deletion by more than a day."""
LOOK_S: Final = 3600.0
_COPY: Final = "copy-"
_REPLACED: Final = "replaced-"
_INCOMING: Final = "incoming-"


def copy_path(data_dir: Path, number: int) -> Path:
    """Where the copy of this number is written for the one who packs it."""
    return data_dir / FOLDER / f"{_COPY}{number}.sqlite3"


def incoming_path(data_dir: Path, number: int) -> Path:
    """Where a backup is unpacked and looked at."""
    return data_dir / FOLDER / f"{_INCOMING}{number}"


def replaced_path(data_dir: Path, moment: datetime) -> Path:
    """Where the data goes that a restore replaces."""
    return data_dir / FOLDER / f"{_REPLACED}{moment:%Y%m%d-%H%M%S}"


def remove(path: Path) -> None:
    """A file or folder, and the folder of copies when it was the last."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # there is another
        path.parent.rmdir()


def remove_all(data_dir: Path) -> None:
    """Every copy, since somebody is being forgotten. A backup that is just being made has to begin again."""
    for path in _entries(data_dir):
        remove(path)


def remove_old(data_dir: Path) -> float:
    """What has been here for a day; the seconds until the next look."""
    for path in _entries(data_dir):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > KEPT_S:
                log.info("%s is a day old and removed", path.name)
                remove(path)
    return LOOK_S


def keep_aside(files: tuple[Path, ...], folder: Path) -> None:
    """Have these files (those that there are) in the folder as well, without copying where the disk can."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in files:
        if path.is_dir():
            shutil.copytree(path, folder / path.name, dirs_exist_ok=True)
        elif path.exists():
            try:
                os.link(path, folder / path.name)
            except OSError:
                shutil.copy2(path, folder / path.name)


def _entries(data_dir: Path) -> list[Path]:
    folder = data_dir / FOLDER
    return sorted(folder.iterdir()) if folder.is_dir() else []
