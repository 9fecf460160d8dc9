"""However often a connection breaks, the bot is not deaf for long, and asks for few sessions in a day."""

from __future__ import annotations

from bot.adapters.reconnecting import LONGEST_S, STEADY_S, BoundedBackoff


def test_waits_grow_to_a_bound_and_begin_anew_after_a_steady_time() -> None:
    clock = [0.0]
    backoff = BoundedBackoff(now=lambda: clock[0])
    waits = []
    for _ in range(2000):
        waits.append(backoff.delay())
        clock[0] += waits[-1]
    assert waits[0] <= 2
    assert waits[1] <= 4
    assert 0.9 * LONGEST_S < max(waits) <= LONGEST_S
    assert 86_400 / (sum(waits[20:]) / len(waits[20:])) < 1000
    clock[0] += STEADY_S + 1
    assert backoff.delay() <= 2
