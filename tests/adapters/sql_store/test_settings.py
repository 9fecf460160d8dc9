"""Settings and small values."""

from __future__ import annotations

from bot.adapters.sql_store import SqlStore


async def test_options_hold_for_a_space_or_one_of_its_places(store: SqlStore) -> None:
    await store.settings.set_option(9, 0, "reply_mode", "named")
    await store.settings.set_option(9, 500, "reply_mode", "always")
    await store.settings.set_option(9, 500, "reply_mode", "off")
    await store.settings.set_option(10, 0, "reply_mode", "always")
    assert await store.settings.options(9) == {(0, "reply_mode"): "named", (500, "reply_mode"): "off"}
    await store.settings.set_option(9, 500, "reply_mode", None)
    await store.settings.set_option(9, 500, "reply_mode", None)
    assert await store.settings.options(9) == {(0, "reply_mode"): "named"}


async def test_values_are_replaced(store: SqlStore) -> None:
    assert await store.settings.value("encoder") is None
    await store.settings.set_value("encoder", "a")
    await store.settings.set_value("encoder", "b")
    assert await store.settings.value("encoder") == "b"
