"""What nobody caught is logged once, with a reference; and no task of ours can get lost."""

from __future__ import annotations

import ast
import asyncio
import gc
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.last_resort import last_resort

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*(ROOT / "bot").rglob("*.py"), *(ROOT / "cogs").rglob("*.py")])


class Uncollectable:
    """Fails when it is thrown away."""

    def __del__(self) -> None:
        raise ValueError("lost")


async def forgotten() -> None:
    raise ValueError("lost")


async def in_a_callback() -> None:
    def fail() -> None:
        raise ValueError("lost")

    asyncio.get_running_loop().call_soon(fail)
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def in_a_task() -> None:
    task = asyncio.create_task(forgotten(), name="forgotten")
    await asyncio.wait([task])
    del task
    gc.collect()


async def in_a_thread() -> None:
    def fail() -> None:
        raise ValueError("lost")

    thread = threading.Thread(target=fail, name="worker")
    thread.start()
    await asyncio.to_thread(thread.join)


async def in_a_finalizer() -> None:
    Uncollectable()
    gc.collect()


@pytest.mark.logs_exceptions
@pytest.mark.parametrize("happen", [in_a_callback, in_a_task, in_a_thread, in_a_finalizer])
async def test_what_nobody_caught_is_logged_once(happen: object, caplog: pytest.LogCaptureFixture) -> None:
    assert callable(happen)
    with last_resort():
        await happen()
    (record,) = [one for one in caplog.records if one.exc_info]
    assert record.name == "bot.last_resort"
    assert re.search(r"\(ref \w{6}\)$", record.getMessage())


async def test_a_connection_that_the_library_left_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    with last_resort():
        left = {"client_connection": object(), "message": "Unclosed connection"}
        asyncio.get_running_loop().call_exception_handler(left)
    assert [record.levelname for record in caplog.records if "Unclosed" in record.getMessage()] in (
        [],
        ["INFO"],
    )


async def test_afterwards_all_is_as_before() -> None:
    before = threading.excepthook
    with last_resort():
        assert threading.excepthook is not before
    assert threading.excepthook is before
    assert asyncio.get_running_loop().get_exception_handler() is None


def calls(name: str) -> Iterator[tuple[str, ast.Call, ast.AST]]:
    """Every call of a function of this name in our code, with where it is and what holds it."""
    for source in SOURCES:
        tree = ast.parse(source.read_text(encoding="utf-8"))
        for parent in ast.walk(tree):
            for child in ast.iter_child_nodes(parent):
                called = child.func if isinstance(child, ast.Call) else None
                if isinstance(called, ast.Attribute) and called.attr == name and isinstance(child, ast.Call):
                    yield f"{source.relative_to(ROOT)}:{child.lineno}", child, parent


def test_every_task_has_a_name_and_somebody_who_holds_it() -> None:
    tasks = list(calls("create_task"))
    assert len(tasks) > 5
    nameless = [where for where, call, _ in tasks if "name" not in {word.arg for word in call.keywords}]
    assert not nameless
    in_groups = {where for where, call, _ in tasks if ast.unparse(call.func).startswith("group.")}
    dropped = [where for where, _, parent in tasks if isinstance(parent, ast.Expr) and where not in in_groups]
    assert not dropped, "nobody would see these fail"
    assert not list(calls("ensure_future"))
