"""Three minutes of the soak that `make soak` runs for two hours."""

from __future__ import annotations

import pytest

from benchmarks import soak


@pytest.mark.timeout(900)
def test_three_minutes_of_faults_lose_nothing_leave_nobody_in_silence_and_leak_nothing() -> None:
    figures = soak.run(["--minutes", "3", "--seed", "3"])
    assert figures["faults"] == 0, figures["first_faults"]
    assert figures["weather"].keys() >= {"stopped", "killed"}
    assert figures["questions"] > 50
    assert figures["answered"] + figures["told"] == figures["questions"]
    assert figures["told_and_answered"] == 0
    assert figures["answered"] > 0.9 * figures["questions"]
    assert figures["looks_at_longest_life"] > 20
    for name, allowed in (("rss_mb", 40), ("open_files", 6), ("threads", 15), ("tasks", 12)):
        grown = figures[f"{name}_last_third"] - figures[f"{name}_first_third"]
        assert grown < allowed, f"{name} grew by {grown}"
    for name, most in (("rss_mb", 450), ("open_files", 60), ("threads", 60), ("tasks", 120), ("disk_mb", 25)):
        assert figures[f"{name}_most"] < most, name
