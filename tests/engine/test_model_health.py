"""What moderators read of the language model is in plain words."""

from __future__ import annotations

import pytest

from bot.engine.health import ModelHealth
from bot.errors import EmptyReply, ModelError, ModelMisconfigured, ModelRefused, ModelUnavailable


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (ModelUnavailable("503 at https://secret.example"), "does not respond"),
        (ModelMisconfigured("401"), "refuses the key"),
        (ModelRefused("400"), "refused a request"),
        (EmptyReply("nothing"), "without words"),
        (ModelError("?"), "it failed"),
    ],
)
def test_a_failure_is_told_in_words_with_its_reference_and_without_details(
    problem: ModelError, words: str
) -> None:
    health = ModelHealth("small")
    health.failed(problem, "a84305")
    line = health.line()
    assert not line.ok
    assert words in line.text
    assert line.text.endswith("see the log (ref a84305)")
    assert "secret" not in line.text
    health.answered("large")
    assert (health.line().ok, health.line().text) == (True, "large answers")
