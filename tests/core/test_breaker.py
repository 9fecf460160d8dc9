"""The circuit breaker: opens, rests longer each time, lets one call try, and closes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.core.breaker import Breaker, BreakerRules

RULES = BreakerRules(failures=3, slow=20.0, first_wait=10.0, longest_wait=60.0)


def test_it_opens_after_failures_in_a_row_only() -> None:
    breaker = Breaker(RULES)
    assert [breaker.failed(0.0), breaker.failed(1.0)] == [False, False]
    assert not breaker.succeeded()
    assert [breaker.failed(2.0), breaker.failed(3.0), breaker.failed(4.0)] == [False, False, True]
    assert breaker.opened


def test_a_failure_that_took_long_opens_at_once() -> None:
    assert Breaker(RULES).failed(0.0, took=20.0)


def test_what_will_not_pass_rests_for_the_longest_time() -> None:
    breaker = Breaker(RULES)
    assert breaker.failed(100.0, for_long=True)
    assert breaker.next_trial == 160.0


def test_one_call_tries_it_after_the_rest() -> None:
    breaker = Breaker(RULES)
    breaker.failed(0.0, took=30.0)
    assert not breaker.may_be_tried(9.9)
    assert breaker.may_be_tried(10.0)
    breaker.begin_trial()
    assert not breaker.may_be_tried(11.0)
    breaker.end_trial()
    assert breaker.may_be_tried(11.0), "a trial that was called off teaches nothing"


def test_each_trial_that_fails_doubles_the_rest_up_to_a_bound() -> None:
    breaker, now, rests = Breaker(RULES), 0.0, []
    breaker.failed(now, took=30.0)
    for _ in range(5):
        rests.append(breaker.next_trial - now)
        now = breaker.next_trial
        breaker.begin_trial()
        assert not breaker.failed(now)
    assert rests == [10.0, 20.0, 40.0, 60.0, 60.0]
    assert breaker.succeeded()
    breaker.failed(now, took=30.0)
    assert breaker.next_trial - now == 10.0, "after a success the rests begin anew"


def test_calls_that_began_before_it_opened_do_not_prolong_the_rest() -> None:
    breaker = Breaker(RULES)
    breaker.failed(0.0, took=30.0)
    breaker.failed(1.0, took=30.0)
    assert breaker.next_trial == 10.0


@given(st.lists(st.sampled_from(["ok", "fail", "slow", "try", "off"]), max_size=40))
def test_whatever_happens_it_can_always_be_tried_again(happens: list[str]) -> None:
    breaker, now = Breaker(RULES), 0.0
    for what in happens:
        now += 5.0
        if what == "ok":
            breaker.succeeded()
        elif what in {"fail", "slow"}:
            breaker.failed(now, took=30.0 if what == "slow" else 0.0)
        elif what == "try" and breaker.may_be_tried(now):
            breaker.begin_trial()
        elif what == "off":
            breaker.end_trial()
    breaker.end_trial()
    assert not breaker.opened or breaker.may_be_tried(now + RULES.longest_wait)
    assert not breaker.opened or breaker.next_trial <= now + RULES.longest_wait
