"""Settings, usage counters and small values."""

from __future__ import annotations

import asyncio

from bot.adapters.sql_store import SqlStore

DAY = "2026-03-01"


async def test_options_hold_for_a_space_or_one_of_its_places(store: SqlStore) -> None:
    await store.settings.set_option(9, 0, "reply_mode", "named")
    await store.settings.set_option(9, 500, "reply_mode", "always")
    await store.settings.set_option(9, 500, "reply_mode", "off")
    await store.settings.set_option(10, 0, "reply_mode", "always")
    assert await store.settings.options(9) == {(0, "reply_mode"): "named", (500, "reply_mode"): "off"}
    await store.settings.set_option(9, 500, "reply_mode", None)
    await store.settings.set_option(9, 500, "reply_mode", None)
    assert await store.settings.options(9) == {(0, "reply_mode"): "named"}


async def test_tokens_are_reserved_up_to_the_limits(store: SqlStore) -> None:
    reserve = store.settings.reserve
    assert await reserve(9, DAY, 60, space_limit=100, total_limit=150)
    assert not await reserve(9, DAY, 41, space_limit=100, total_limit=150)
    assert await reserve(9, DAY, 40, space_limit=100, total_limit=150)
    assert not await reserve(10, DAY, 51, space_limit=100, total_limit=150)
    assert await reserve(10, DAY, 50, space_limit=100, total_limit=150)
    assert await reserve(10, DAY, 10_000, space_limit=0, total_limit=0)
    assert await reserve(9, "2026-03-02", 100, space_limit=100, total_limit=150)
    assert [await store.settings.used(space, DAY) for space in (9, 10, 0, 404)] == [100, 10_050, 10_150, 0]


async def test_a_reservation_is_corrected(store: SqlStore) -> None:
    await store.settings.reserve(9, DAY, 60, space_limit=0, total_limit=0)
    await store.settings.correct(9, DAY, -20)
    assert (await store.settings.used(9, DAY), await store.settings.used(0, DAY)) == (40, 40)
    await store.settings.correct(9, DAY, -500)
    assert (await store.settings.used(9, DAY), await store.settings.used(0, DAY)) == (0, 0)
    await store.settings.correct(10, DAY, 7)
    assert (await store.settings.used(10, DAY), await store.settings.used(0, DAY)) == (7, 7)


async def test_reservations_at_once_never_pass_the_limit(store: SqlStore) -> None:
    granted = await asyncio.gather(
        *(store.settings.reserve(9, DAY, 10, space_limit=55, total_limit=0) for _ in range(20))
    )
    assert sum(granted) == 5
    assert await store.settings.used(9, DAY) == 50


async def test_values_are_replaced(store: SqlStore) -> None:
    assert await store.settings.value("encoder") is None
    await store.settings.set_value("encoder", "a")
    await store.settings.set_value("encoder", "b")
    assert await store.settings.value("encoder") == "b"
