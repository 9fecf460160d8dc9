"""Ten kills at random moments, as `make soak` does two hundred: nothing lost, doubled or out of step."""

from __future__ import annotations

import pytest

from benchmarks import crash


@pytest.mark.timeout(900)
def test_ten_kills_lose_nothing_and_double_nothing() -> None:
    figures = crash.run(["--kills", "10", "--longest", "1.5", "--seed", "7"])
    assert figures["faults"] == 0, figures["first_faults"]
    assert sum(figures["kills"].values()) == 10
    assert figures["questions"] > 10
