"""The checks of the parts tell what works, how fast, and what to do about what does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from bot.core.chat import DEFAULT_SAMPLING, ChatMessage, Completion, OnText, Sampling, Usage
from bot.core.vectors import Vector
from bot.errors import ModelMisconfigured, TroupeError
from bot.part_checks import database_rows, encoder_row, index_row, model_row
from bot.self_check import State

SOUND: dict[str, int | str] = {
    "check": "ok",
    "schema": "0001",
    "path": "troupe.db",
    "size_bytes": 2_500_000,
    "personas": 2,
    "scenes": 3,
    "turns": 40,
    "memories": 41,
    "turns_to_summarise": 0,
}


class Model:
    """Answers everything with the same words, or fails."""

    name = "storyteller"

    def __init__(self, *, failure: Exception | None = None, usage: Usage | None = None) -> None:
        self._failure = failure
        self._usage = usage
        self.purposes: list[str] = []

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        purpose: str,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Mapping[str, object] | None = None,
        sampling: Sampling = DEFAULT_SAMPLING,
        on_text: OnText | None = None,
    ) -> Completion:
        self.purposes.append(purpose)
        if self._failure:
            raise self._failure
        return Completion("White\nand more", "stop", self._usage, self.name, False)

    async def context_tokens(self) -> int | None:
        return 8192

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def aclose(self) -> None:
        return None


class Encoder:
    """Three numbers for every text, or a failure."""

    id = "tiny-1"
    dimensions = 3
    ready = True

    def __init__(self, failure: Exception | None = None) -> None:
        self._failure = failure

    async def embed_query(self, texts: Sequence[str]) -> Vector:
        if self._failure:
            raise self._failure
        return np.ones((len(texts), 3), dtype=np.float32)

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        return await self.embed_query(texts)


async def test_a_model_that_answers_is_named_with_its_speed() -> None:
    model = Model(usage=Usage(10, 20))
    row = await model_row(model)
    assert row.state is State.OK
    assert "storyteller answered “White and more”" in row.text
    assert "tokens/s, context 8192 tokens" in row.text
    assert set(model.purposes) == {"check"}


async def test_a_model_that_fails_says_why() -> None:
    row = await model_row(Model(failure=ModelMisconfigured("The key is wrong.")))
    assert row.state is State.FAILED
    assert row.text == "The key is wrong."


async def test_an_encoder_is_named_with_its_dimensions_and_speed() -> None:
    row = await encoder_row(Encoder())
    assert row.state is State.OK
    assert row.text.startswith("tiny-1, 3 dimensions, ")
    assert row.text.endswith(" ms a text")


async def test_an_encoder_that_fails_says_why() -> None:
    row = await encoder_row(Encoder(TroupeError("EMBEDDING_MODEL=x cannot be loaded.")))
    assert (row.state, row.text) == (State.FAILED, "EMBEDDING_MODEL=x cannot be loaded.")


@pytest.mark.parametrize(("waiting", "state"), [(0, State.OK), (12, State.OK), (5000, State.WARNING)])
def test_turns_that_wait_for_the_notes_are_counted(waiting: int, state: State) -> None:
    database, notes = database_rows({**SOUND, "turns_to_summarise": waiting})
    assert database.text == "schema 0001, 2.5 MB: 2 personas, 3 scenes, 40 turns, 41 memories"
    assert notes.state is state
    assert (str(waiting) if waiting else "no turn") in notes.text


def test_a_damaged_database_is_a_failure_and_a_damaged_index_is_not() -> None:
    (row,) = database_rows({**SOUND, "check": "row 3 missing from index"})
    assert row.state is State.FAILED
    assert index_row(damaged=True, new=False, path=Path("lance")).state is State.WARNING
    assert "reindex" in index_row(damaged=True, new=False, path=Path("lance")).text
    assert index_row(damaged=False, new=True, path=Path("lance")).state is State.OK
