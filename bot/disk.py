"""Where data lies on this machine: whether it can be written, how much room there is, whether it lasts."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LITTLE: Final = 1 << 30
"""Free bytes below which people are warned."""
MOUNTS: Final = Path("/proc/self/mountinfo")
_IN_MEMORY: Final = {"tmpfs", "ramfs"}
_LAYERS: Final = {"overlay", "aufs", "9p"}
"""Kinds of file system that a container's own, passing disk has."""
_HOSTS: Final = {
    "RENDER": "Render",
    "RAILWAY_PROJECT_ID": "Railway",
    "FLY_APP_NAME": "Fly.io",
    "K_SERVICE": "Cloud Run",
    "KOYEB_APP_NAME": "Koyeb",
}
"""Variables by which hosts are known whose disk is new at each start, volumes excepted."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system."""

    point: Path
    kind: str


def mount_of(path: Path, mounts: str) -> Mount | None:
    """The file system that holds `path` (absolute), from the text of `/proc/self/mountinfo`."""
    found: Mount | None = None
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = Path(fields[4].replace("\\040", " "))
        if path.is_relative_to(point) and (found is None or len(point.parts) >= len(found.point.parts)):
            found = Mount(point, after.split(" ")[0])
    return found


def wiped_by(path: Path, environ: Mapping[str, str], mounts: str) -> str | None:
    """Why what lies at `path` is gone after a restart; None when it lasts, as far as one can see."""
    mount = mount_of(path, mounts)
    if environ.get("DYNO"):
        return "Heroku wipes the disk at every restart: everything would be forgotten once a day"
    if mount is None:
        return None
    own_disk = mount.point == Path("/")
    host = next((name for variable, name in _HOSTS.items() if environ.get(variable)), None)
    if host is not None and own_disk:
        return f"{host} wipes the disk at every deploy: add a volume and point DATA_DIR at it"
    if mount.kind in _IN_MEMORY:
        return f"{mount.point} is in memory ({mount.kind}): point DATA_DIR at a disk"
    if mount.kind in _LAYERS and own_disk:
        return "this is a container's own disk, gone with the container: point DATA_DIR at a volume"
    return None


def free_bytes(path: Path) -> int:
    """Free room on the disk that holds `path`, which need not exist yet."""
    return shutil.disk_usage(_existing(path)).free


def used_bytes(folder: Path) -> int:
    """What the files below the folder take, those that vanish meanwhile left out."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def can_write(folder: Path) -> bool:
    """Whether files can be made in the folder; makes the folder itself where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"troupe")
    except OSError:
        return False
    return True


def _existing(path: Path) -> Path:
    path = path.resolve()
    return next(parent for parent in (path, *path.parents) if parent.exists())
