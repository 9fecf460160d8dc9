"""The benchmark of large guilds, on a handful of memories."""

from __future__ import annotations

import pytest

from benchmarks import scale


@pytest.mark.timeout(240)
def test_it_measures_searches_disk_and_memory_of_both_guilds() -> None:
    figures = scale.run([], memories=64, compared=48, sizes=(8, 24), places=4, searches=3)
    assert figures.keys() == {"48", "64", "ratio_p95", "goal"}
    for count in ("48", "64"):
        found = figures[count]
        assert found["rss_mb"] > 100
        assert found["indexed_per_s"] > 0 < found["filled_per_s"]
        for place in ("place_8", "place_24"):
            assert 0 < found[place]["search_p50_ms"] <= found[place]["search_p95_ms"]
            assert found[place]["search_p50_ms"] <= found[place]["recall_p50_ms"]
    assert figures["ratio_p95"].keys() == {"8", "24"}


def test_the_two_places_asked_in_have_their_size_and_the_rest_is_shared() -> None:
    assert scale._spread(20, (3, 6), 5) == [3, 6, 4, 4, 3]
    with pytest.raises(SystemExit, match="too few"):
        scale._spread(10, (3, 6), 5)
