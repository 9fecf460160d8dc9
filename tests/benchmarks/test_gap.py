"""A short evening with a kill -9 and a failing model: nothing said is lost, and all is accounted for."""

from __future__ import annotations

import pytest

from benchmarks import gap


@pytest.mark.timeout(240)
def test_nothing_said_is_lost_over_a_kill_and_failing_calls() -> None:
    figures = gap.run(["--failing", "0.4"], turns=90, kills=1)
    assert figures["model_calls"] > figures["model_calls_failed"] > 0
    assert figures["turns"] >= 90
    for when in (figures, figures["after_kill_1"]):
        assert when["lost"] == when["doubled"] == when["nowhere"] == when["without_one_memory"] == 0
        assert when["covered"] + when["in_window"] + when["waiting"] == when["turns"]
    assert figures["after_kill_1"]["turns"] < 90
