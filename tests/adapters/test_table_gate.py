"""Who may use a table of the search index at the same time."""

from __future__ import annotations

import asyncio

import pytest

from bot.adapters.table_gate import TableGate


async def settled(task: asyncio.Task[None]) -> bool:
    for _ in range(5):
        await asyncio.sleep(0)
    return task.done()


async def test_readers_go_beside_a_writer() -> None:
    gate = TableGate()
    async with asyncio.timeout(30), gate.writing(), gate.reading(), gate.reading():
        pass


async def test_second_writer_waits() -> None:
    gate = TableGate()

    async def write() -> None:
        async with gate.writing():
            pass

    async with gate.writing():
        second = asyncio.create_task(write())
        assert not await settled(second)
    await second


async def test_alone_waits_for_readers_and_keeps_new_ones_out() -> None:
    gate, order = TableGate(), list[str]()

    async def alone() -> None:
        async with gate.writing(), gate.alone():
            order.append("alone")

    async def read() -> None:
        async with gate.reading():
            order.append("reader")

    async with gate.reading():
        lonely = asyncio.create_task(alone())
        assert not await settled(lonely)
        late = asyncio.create_task(read())
        assert not await settled(late)
        order.append("first reader")
    await asyncio.gather(lonely, late)
    assert order == ["first reader", "alone", "reader"]


async def test_giving_up_on_being_alone_lets_readers_in_again() -> None:
    gate = TableGate()
    async with gate.reading():
        lonely = asyncio.create_task(gate.alone().__aenter__())
        await asyncio.sleep(0)
        lonely.cancel()
        with pytest.raises(asyncio.CancelledError):
            await lonely
        async with asyncio.timeout(30), gate.reading():
            pass
    async with asyncio.timeout(30), gate.alone():
        pass
