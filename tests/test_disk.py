"""A data folder that is wiped at restarts is noticed before anything is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot import disk

ORDINARY = """\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
23 22 0:21 / /run rw,nosuid - tmpfs tmpfs rw
24 22 8:2 / /srv/my\\040data rw - xfs /dev/sdb1 rw
"""
CONTAINER = """\
100 1 0:50 / / rw,relatime master:1 - overlay overlay rw,lowerdir=a
101 100 8:1 /volumes/x /data rw,relatime - ext4 /dev/sda1 rw
"""
DATA = Path("/data/troupe")
APP = Path("/app/data")


@pytest.mark.parametrize(
    ("path", "environ", "mounts", "word"),
    [
        (APP, {}, ORDINARY, None),
        (Path("/srv/my data/troupe"), {}, ORDINARY, None),
        (Path("/run/troupe"), {}, ORDINARY, "in memory"),
        (APP, {}, CONTAINER, "container"),
        (DATA, {}, CONTAINER, None),
        (APP, {"DYNO": "worker.1"}, ORDINARY, "Heroku"),
        (DATA, {"DYNO": "worker.1"}, CONTAINER, "Heroku"),
        (APP, {"RAILWAY_PROJECT_ID": "x"}, ORDINARY, "Railway"),
        (DATA, {"RAILWAY_PROJECT_ID": "x"}, CONTAINER, None),
        (APP, {"RENDER": "true"}, CONTAINER, "Render"),
        (APP, {"FLY_APP_NAME": "x"}, ORDINARY, "Fly.io"),
        (APP, {}, "", None),
        (APP, {}, "nonsense\n1 2 3\n", None),
    ],
)
def test_what_is_wiped_at_restarts(
    path: Path, environ: dict[str, str], mounts: str, word: str | None
) -> None:
    reason = disk.wiped_by(path, environ, mounts)
    assert (reason is None) if word is None else (reason is not None and word in reason)


def test_the_innermost_mount_counts() -> None:
    assert disk.mount_of(DATA, CONTAINER) == disk.Mount(Path("/data"), "ext4")
    assert disk.mount_of(APP, CONTAINER) == disk.Mount(Path("/"), "overlay")


def test_room_is_told_also_for_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    assert disk.free_bytes(tmp_path / "not" / "yet") > 0


def test_a_folder_that_can_be_made_can_be_written(tmp_path: Path) -> None:
    assert disk.can_write(tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []
    file = tmp_path / "file"
    file.touch()
    assert not disk.can_write(file / "below")


def test_what_lies_below_a_folder_is_counted(tmp_path: Path) -> None:
    assert disk.used_bytes(tmp_path / "nowhere") == 0
    (tmp_path / "deep").mkdir()
    (tmp_path / "one").write_bytes(b"x" * 10)
    (tmp_path / "deep" / "two").write_bytes(b"x" * 5)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert disk.used_bytes(tmp_path) - disk.used_bytes(tmp_path / "deep") in range(10, 500)
    assert disk.used_bytes(tmp_path / "deep") == 5
