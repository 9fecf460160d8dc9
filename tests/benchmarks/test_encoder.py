"""The cost of an encoder, measured on very few texts."""

from __future__ import annotations

import pytest

from benchmarks import encoder


@pytest.mark.timeout(240)
def test_an_encoder_costs_time_and_memory() -> None:
    figures = encoder.run(["--texts", "3"])
    assert figures["dimensions"] == 384
    assert figures["cpu_ms"] > 0
    assert figures["wall_ms"] > 0
    assert figures["load_s"] > 0
