"""The documents say what is true: commands exist, links lead somewhere, nobody's machine is named."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.invite import NEEDED
from bot.settings import variables

PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "PRIVACY.md", "SECURITY.md")
_MACHINE = re.compile(r"(?<![\w.])/(?:home|root|tmp|Users|work|farm)/\w")
_TEXTS = {".py", ".md", ".toml", ".txt", ".json", ".ini", ".mako", ".example", ""}


def text_of(root: Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8")


def make_targets(root: Path) -> set[str]:
    return set(re.findall(r"^([a-z-]+):", text_of(root, "Makefile"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_every_make_command_exists(root: Path, page: str) -> None:
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text_of(root, page), re.MULTILINE))
    assert named <= make_targets(root)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_bot_exists(root: Path, page: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in set(re.findall(r"python -m bot ([a-z-]+)", text_of(root, page))):
        assert main([command, "--help"], {}) == 0, command
    capsys.readouterr()


def test_the_readme_names_only_settings_that_exist(root: Path) -> None:
    named = set(
        re.findall(
            r"`((?:LLM|DISCORD|CONTEXT|DAILY|EMBEDDING|DATA|LOG|ENCODER)_\w+)", text_of(root, "README.md")
        )
    )
    assert named
    assert named <= set(variables())


def test_the_readme_names_the_permissions_of_the_invite_link(root: Path) -> None:
    readme = " ".join(text_of(root, "README.md").split())
    for name in NEEDED.values():
        assert name in readme


def test_the_readme_installs_the_torch_of_the_requirements(root: Path) -> None:
    pin = re.search(r"^torch==\S+", text_of(root, "requirements.txt"), re.MULTILINE)
    assert pin is not None
    assert pin[0] in text_of(root, "README.md")


@pytest.mark.parametrize("page", PAGES)
def test_links_inside_the_project_lead_somewhere(root: Path, page: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text_of(root, page)):
        assert (root / target).exists(), target


def test_the_changelog_keeps_its_form(root: Path) -> None:
    text = text_of(root, "CHANGELOG.md")
    assert text.startswith("# Changelog\n")
    assert "\n## [Unreleased]\n" in text
    allowed = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= allowed
    releases = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert all(re.fullmatch(r"\[Unreleased\]|\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", line) for line in releases)


def test_make_test_is_all_that_ci_runs(root: Path) -> None:
    commands = [line for line in text_of(root, ".ci/run").splitlines() if line and not line.startswith("#")]
    assert commands == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', "make test"]
    assert (root / ".ci" / "run").stat().st_mode & 0o111


def test_help_lists_every_target(root: Path) -> None:
    shown = subprocess.run(
        ["make", "help"], cwd=root, capture_output=True, text=True, check=True, timeout=30
    ).stdout
    for target in ("setup", "run", "test", "check", "fix", "console", "doctor"):
        assert f"make {target}" in shown


def test_no_file_names_somebodys_machine(root: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False, timeout=30
    )
    names = [name for name in listed.stdout.split("\0") if name and Path(name).suffix in _TEXTS]
    pages = names or [*PAGES, ".env.example", "Makefile"]  # a release without its history
    found = [name for name in pages if (root / name).is_file() and _MACHINE.search(text_of(root, name))]
    assert found == []
