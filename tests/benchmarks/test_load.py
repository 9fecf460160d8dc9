"""The benchmark of load, in a small town: the promises that do not depend on the speed of a machine."""

from __future__ import annotations

import pytest

from benchmarks import load


@pytest.mark.timeout(400)
def test_everything_is_stored_in_order_answered_once_and_indexed() -> None:
    size = ["--guilds", "12", "--channels", "2", "--per-second", "20", "--seconds", "6"]
    figures = load.run([*size, "--model-s", "0.2", "--embedding", "openai:letters"])
    assert figures["faults"] == 0, figures["first_faults"]
    assert figures["answered"] == figures["questions"] == 6
    assert figures["answered_twice"] == figures["violations"] == 0
    assert figures["sessions"] == 1
    assert figures["resumes"] == 0
    assert figures["rss_mb_at_the_end"] < figures["rss_mb_at_rest"] + 300
