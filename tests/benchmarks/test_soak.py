"""Half a minute of the soak that `make soak` runs for two hours."""

from __future__ import annotations

import pytest

from benchmarks import soak


@pytest.mark.timeout(600)
def test_half_a_minute_of_faults_loses_nothing_and_leaks_nothing() -> None:
    figures = soak.run(["--minutes", "0.5", "--seed", "3"])
    assert figures["faults"] == 0, figures["first_faults"]
    assert figures["messages"] > 20
    # An answer that Discord refuses three times in a row is given up, so a few may be missing.
    assert figures["answered"] + figures["notices"] >= 0.8 * figures["questions"]
    for name, allowed in (("rss_mb", 150), ("open_files", 40), ("threads", 40), ("tasks", 60)):
        grown = figures[f"{name}_last_third"] - figures[f"{name}_first_third"]
        assert grown < allowed, f"{name} grew by {grown}"
