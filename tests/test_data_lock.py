"""Two processes never share a data folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bot.data_lock import AlreadyOwned, owned
from bot.errors import SettingsError

TRY = """
import sys
from pathlib import Path
from bot.data_lock import AlreadyOwned, owned
try:
    with owned(Path(sys.argv[1])):
        print("owned")
except AlreadyOwned as problem:
    print(problem)
"""


def tried(root: Path, folder: Path) -> str:
    command = [sys.executable, "-c", TRY, str(folder)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=50).stdout


def test_a_second_process_is_told_who_is_in_the_way(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with owned(folder):
        answer = tried(root, folder)
    assert answer.startswith(f"Another Troupe is running on {folder}")
    assert "DATA_DIR" in answer
    assert tried(root, folder) == "owned\n"


def test_the_folder_is_free_again_after_an_error(root: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyError), owned(tmp_path):
        raise KeyError
    assert tried(root, tmp_path) == "owned\n"


def test_a_folder_that_cannot_be_made_names_the_setting(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SettingsError, match="DATA_DIR=") as caught, owned(file / "below"):
        raise AssertionError("never reached")
    assert not isinstance(caught.value, AlreadyOwned)
