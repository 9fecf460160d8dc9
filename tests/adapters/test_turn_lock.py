"""The lock that lets the more urgent go first."""

from __future__ import annotations

import asyncio

import pytest

from bot.adapters.turn_lock import TurnLock


async def test_urgent_goes_first_and_equals_in_order() -> None:
    lock, order = TurnLock(), list[str]()

    async def work(name: str, urgency: int) -> None:
        async with lock.turn(urgency):
            order.append(name)

    async with lock.turn(1):
        tasks = [
            asyncio.create_task(work(*one))
            for one in [("slow 1", 1), ("slow 2", 1), ("query 1", 0), ("query 2", 0)]
        ]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert order == ["query 1", "query 2", "slow 1", "slow 2"]


async def test_one_who_gives_up_waiting_does_not_hold_the_others_up() -> None:
    lock = TurnLock()
    async with lock.turn(0):
        waiting = asyncio.create_task(lock.turn(0).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(30), lock.turn(0):
        pass


async def test_one_cancelled_in_the_moment_of_its_turn_passes_it_on() -> None:
    lock = TurnLock()
    holder = lock.turn(0)
    await holder.__aenter__()
    waiting = asyncio.create_task(lock.turn(0).__aenter__())
    await asyncio.sleep(0)
    await holder.__aexit__(None, None, None)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(30), lock.turn(0):
        pass


async def test_error_inside_a_turn_releases_it() -> None:
    lock = TurnLock()
    with pytest.raises(KeyError):
        async with lock.turn(0):
            raise KeyError
    async with asyncio.timeout(30), lock.turn(0):
        pass
