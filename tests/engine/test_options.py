"""The settings in memory follow what is stored, however readings and changes fall together."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from bot.engine.options import Options
from bot.errors import UserFacing

SPACE = 9


@dataclass
class SlowSettings:
    """A settings store whose answers wait, each with the content of the moment it was asked."""

    stored: dict[tuple[int, str], str] = field(default_factory=dict)
    answers: list[asyncio.Event] = field(default_factory=list)

    async def options(self, space_id: int) -> dict[tuple[int, str], str]:
        found, gate = dict(self.stored), asyncio.Event()
        self.answers.append(gate)
        await gate.wait()
        return found

    async def set_option(self, space_id: int, place_id: int, key: str, text: str | None) -> None:
        self.stored.pop((place_id, key), None)
        if text is not None:
            self.stored[place_id, key] = text

    async def value(self, key: str) -> str | None:
        return None

    async def set_value(self, key: str, value: str | None) -> None:
        raise AssertionError("nothing is to be set")

    async def asked(self, times: int) -> None:
        """Wait until the store was asked so often."""
        async with asyncio.timeout(30):
            while len(self.answers) < times:
                await asyncio.sleep(0)


async def _settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_reading_that_ends_late_does_not_undo_a_change() -> None:
    store = SlowSettings()
    options = Options(store=store)
    setting = asyncio.create_task(options.set(SPACE, 0, "reply_mode", "mention"))
    reading = asyncio.create_task(options.load(SPACE))
    await store.asked(1)
    await _settle()
    store.answers[0].set()
    await setting
    for gate in store.answers:
        gate.set()
    await reading
    assert options.known(SPACE)["reply_mode"] == "mention"
    assert store.stored == {(0, "reply_mode"): "mention"}


async def test_what_was_read_before_a_space_was_forgotten_is_not_kept() -> None:
    store = SlowSettings({(0, "reply_mode"): "mention"})
    options = Options(store=store)
    reading = asyncio.create_task(options.load(SPACE))
    await store.asked(1)
    store.stored.clear()
    options.forget(SPACE)
    store.answers[0].set()
    await store.asked(2)
    store.answers[1].set()
    await reading
    assert options.places_with(SPACE, "reply_mode") == []


@pytest.mark.parametrize("key", ["retention_days", "grace_days", "log_channel"])
async def test_what_holds_for_a_whole_server_is_not_taken_for_a_channel(key: str) -> None:
    store = SlowSettings()
    options = Options(store=store)
    reading = asyncio.create_task(options.load(SPACE))
    await store.asked(1)
    store.answers[0].set()
    await reading
    with pytest.raises(UserFacing, match="whole server"):
        await options.set(SPACE, 4, key, "7")
    assert store.stored == {}
    await options.set(SPACE, 4, key, "default")  # what was set before is still taken back
