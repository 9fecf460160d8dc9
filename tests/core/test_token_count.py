"""Token estimates start high and come near what the server counts."""

from __future__ import annotations

import pytest

from bot.core.token_count import TokenCounter

ENGLISH = "The lantern swung in the wind while she waited for the ferry to come back across. " * 10
CHINESE = "她在渡口等着船回来，灯笼在风里摇晃。" * 10
RUSSIAN = "Фонарь качался на ветру, пока она ждала, когда вернётся паром. " * 10


@pytest.mark.parametrize(
    ("text", "tokens"),
    [(ENGLISH, len(ENGLISH) / 4.2), (CHINESE, len(CHINESE) * 0.9), (RUSSIAN, len(RUSSIAN) * 0.45)],
)
def test_first_estimate_is_not_too_low_and_at_most_double(text: str, tokens: float) -> None:
    assert tokens <= TokenCounter().count(text) <= 2 * tokens


def test_dense_scripts_count_more_per_character() -> None:
    counter = TokenCounter()
    assert counter.count("船" * 50) > 2 * counter.count("a" * 50)


def test_nothing_costs_nothing_and_anything_costs_something() -> None:
    assert TokenCounter().count("") == 0
    assert TokenCounter().count("a") == 1


@pytest.mark.parametrize("rate", [0.2, 0.27, 0.5])
def test_one_answer_brings_the_estimate_within_a_tenth(rate: float) -> None:
    counter = TokenCounter()
    true_tokens = round(len(ENGLISH) * rate)
    counter.learn([ENGLISH], true_tokens + 5)
    assert true_tokens <= counter.count(ENGLISH) <= 1.1 * true_tokens


def test_mixed_scripts_come_right_together() -> None:
    counter = TokenCounter()
    for _ in range(40):
        for texts in ([ENGLISH], [CHINESE], [ENGLISH, CHINESE]):
            true = sum(len(text) * (0.24 if text is ENGLISH else 0.7) for text in texts)
            counter.learn(texts, round(true) + 5 * len(texts))
    assert counter.count(ENGLISH) == pytest.approx(1.05 * 0.24 * len(ENGLISH), rel=0.05)
    assert counter.count(CHINESE) == pytest.approx(1.05 * 0.7 * len(CHINESE), rel=0.05)


@pytest.mark.parametrize("claimed", [0, 3, 100_000])
def test_unbelievable_counts_are_ignored(claimed: int) -> None:
    counter = TokenCounter()
    before = counter.count(ENGLISH)
    counter.learn([ENGLISH], claimed)
    assert counter.count(ENGLISH) == before


def test_short_prompts_teach_nothing() -> None:
    counter = TokenCounter()
    counter.learn(["Hi"], 40)
    assert counter.count(ENGLISH) == TokenCounter().count(ENGLISH)
