"""The benchmark of the reply path, on a handful of memories."""

from __future__ import annotations

import pytest

from benchmarks import reply_path


@pytest.mark.timeout(240)
def test_it_measures_the_way_to_the_model_and_counts_one_call() -> None:
    figures = reply_path.run([], sizes={"40": (40, 2), "one_place": (20, 1)}, replies=2, warm_up=1)
    assert figures.keys() == {"p50_ms", "p95_ms", "embed_p50_ms", "ratio_p50", "calls_per_reply"}
    assert figures["p50_ms"].keys() == figures["p95_ms"].keys() == {"40", "one_place"}
    assert all(0 < figures["p50_ms"][size] <= figures["p95_ms"][size] for size in figures["p50_ms"])
    assert figures["calls_per_reply"] == 1.0
