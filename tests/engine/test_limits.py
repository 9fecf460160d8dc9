"""What calls cost is counted soon, however their ends fall together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, date, datetime
from unittest.mock import create_autospec

from bot.core.spending import NOTHING, Entry, Payer, Spent
from bot.engine.limits import Limits, Reservation
from bot.engine.options import Options
from tests.engine.gates import steps

SPENT = Spent(calls=1, input_tokens=7)


class Counted:
    """A store of what was spent, in whose last step another call ends."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.limits: Limits | None = None

    async def add(self, entries: Sequence[Entry]) -> None:
        if self.limits is not None:
            asyncio.get_running_loop().call_soon(end_a_call, self.limits)
            self.limits = None
        self.entries += entries


def end_a_call(limits: Limits) -> None:
    limits.settle(Reservation(Payer(9, 500), date(2026, 3, 1), NOTHING), SPENT)


async def test_a_call_that_ends_in_the_step_in_which_others_were_counted_is_counted_too() -> None:
    store = Counted()
    limits = Limits(
        store=store,  # type: ignore[arg-type]
        options=create_autospec(Options, instance=True),
        ceilings=(),
        now=lambda: datetime(2026, 3, 1, tzinfo=UTC),
    )
    store.limits = limits
    end_a_call(limits)
    await steps()
    assert [entry.spent for entry in store.entries] == [SPENT, SPENT]
