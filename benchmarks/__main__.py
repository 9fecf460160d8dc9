"""Runs one benchmark by its module's name and prints a table, or one JSON object last."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import benchmarks

Run = Callable[[Sequence[str]], dict[str, Any]]


def names() -> list[str]:
    """Return the modules of this package that can be run: those that do not begin with an underscore."""
    return sorted(
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name[0] != "_"
    )


def find(name: str) -> Run:
    """Return the benchmark's `run`. Raises LookupError for any other name."""
    if name not in names():
        raise LookupError(f"no benchmark is called {name!r}; there are: {', '.join(names())}")
    run: Run = importlib.import_module(f"benchmarks.{name}").run
    return run


def table(figures: Mapping[str, Any]) -> str:
    """Return the figures as aligned lines, nested ones under their name."""
    rows = list(_rows(figures, ""))
    width = max((len(label) for label, _ in rows), default=0)
    return "\n".join(f"{label:<{width}}  {value}" for label, value in rows)


def main(arguments: Sequence[str]) -> int:
    """Run as the command line says; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", help=f"one of: {', '.join(names())}")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    chosen, rest = parser.parse_known_args(arguments)
    try:
        run = find(chosen.name)
    except LookupError as problem:
        parser.error(str(problem))
    figures = run(rest)
    print(json.dumps(figures) if chosen.json else table(figures))
    return 0


def _rows(figures: Mapping[str, Any], before: str) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in figures.items():
        if isinstance(value, Mapping):
            rows.extend(_rows(value, f"{before}{key} "))
        else:
            rows.append((f"{before}{key}", f"{value:.4g}" if isinstance(value, float) else str(value)))
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
