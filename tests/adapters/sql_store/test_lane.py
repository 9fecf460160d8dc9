"""A connection is opened once, whatever becomes of who asked first."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy.engine import Connection

from bot.adapters.sql_store.lane import Lane


def one(connection: Connection) -> object:
    return connection.exec_driver_sql("SELECT 1").scalar_one()


async def test_who_is_cancelled_while_it_opens_spoils_it_for_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, go_on, opened = threading.Event(), threading.Event(), []
    connect = sqlite3.connect

    def slowly(*given: object, **more: object) -> sqlite3.Connection:
        opened.append(threading.get_ident())
        if len(opened) == 1:
            opening.set()
            assert go_on.wait(10)
        return connect(*given, **more)  # type: ignore[call-overload, no-any-return]

    lane = Lane(tmp_path / "lane.sqlite3", pragmas=())
    monkeypatch.setattr(sqlite3, "connect", slowly)
    first = asyncio.create_task(lane.run(one))
    assert await asyncio.to_thread(opening.wait, 10)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    second = asyncio.create_task(lane.run(one))
    await asyncio.wait([second], timeout=0.2)
    go_on.set()
    assert await second == 1
    await asyncio.sleep(0.1)
    assert await lane.run(one) == 1
    assert len(opened) == 1
    await lane.close()


async def test_an_opening_that_failed_is_tried_again(tmp_path: Path) -> None:
    lane = Lane(tmp_path / "missing" / "lane.sqlite3", pragmas=())
    with pytest.raises(sqlite3.OperationalError):
        await lane.run(one)
    (tmp_path / "missing").mkdir()
    assert await lane.run(one) == 1
    await lane.close()
