"""Ten kills, at random and at named moments, as `make soak` does two hundred: nothing lost or doubled."""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter

import pytest

from benchmarks import crash
from benchmarks._moments import MOMENTS, Moment


@pytest.mark.timeout(900)
def test_ten_kills_lose_nothing_and_double_nothing() -> None:
    figures = crash.run(["--kills", "10", "--longest", "1.5", "--seed", "7"])
    assert figures["faults"] == 0, figures["first_faults"]
    assert sum(figures["kills"].values()) == 10
    assert figures["questions"] > 10


@pytest.mark.parametrize("moment", MOMENTS, ids=[moment.name for moment in MOMENTS])
def test_what_a_kill_is_aimed_at_is_there(moment: Moment) -> None:
    module, _, path = moment.function.partition(":")
    assert callable(attrgetter(path)(import_module(module)))
