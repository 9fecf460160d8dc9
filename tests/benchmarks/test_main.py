"""The benchmarks' command line: names, a table, one JSON object last."""

import json

import pytest

from benchmarks import __main__ as command
from benchmarks import locomo


def test_benchmarks_are_found_by_name_and_helpers_are_not() -> None:
    names = command.names()
    assert {"locomo", "emotion"} <= set(names)
    assert not [name for name in names if name.startswith("_")]
    assert command.find("locomo") is locomo.run


@pytest.mark.parametrize("name", ["nothing", "_encoding", "__main__", "../locomo"])
def test_other_names_are_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main([name])
    assert ended.value.code == 2
    assert "locomo" in capsys.readouterr().err


def test_figures_become_a_table_or_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = {"p50_ms": {"1000": 12.5}, "n": 3}
    given: list[list[str]] = []

    def run(arguments: list[str]) -> dict[str, object]:
        given.append(list(arguments))
        return figures

    monkeypatch.setattr(command, "find", lambda name: run)
    assert command.main(["x", "data.json", "--json", "--ranked", "out.json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == figures
    assert given == [["data.json", "--ranked", "out.json"]]
    command.main(["x"])
    assert capsys.readouterr().out == "p50_ms 1000  12.5\nn            3\n"
