"""The benchmark of start and memory, on a handful of memories."""

from __future__ import annotations

import pytest

from benchmarks import start


@pytest.mark.timeout(240)
def test_it_measures_seconds_and_memory_of_the_running_bot() -> None:
    figures = start.run([], memories=60, places=2, searches=3)
    assert figures.keys() == {"import_s", "ready_s", "rss_mb_idle", "rss_mb_embedder", "rss_mb_100k"}
    assert 0 < figures["import_s"] < figures["ready_s"]
    assert 20 < figures["rss_mb_idle"] < figures["rss_mb_embedder"] < figures["rss_mb_100k"] + 50
