"""The benchmark of prompts, on a short conversation."""

from __future__ import annotations

from benchmarks import prompt


def test_it_measures_tokens_at_each_mark_and_the_common_beginning() -> None:
    figures = prompt.run([], marks=(12, 30))
    assert figures.keys() == {"tokens", "common_prefix"}
    assert figures["tokens"].keys() == {"12", "30"}
    assert 100 < figures["tokens"]["12"] < figures["tokens"]["30"] < 4096
    assert 0 < figures["common_prefix"] < 1
