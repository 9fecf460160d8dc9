"""The shipped seed sentences, and the head that is fitted from them in the background."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bot.adapters import seed_head
from bot.adapters.emotion_head import EmotionHead, head_path
from bot.adapters.seed_head import SeededScorer, seed_head_path, seeds
from bot.core.emotion import EMOTIONS
from bot.core.scripts import main_script
from bot.core.vectors import Vector
from bot.errors import SearchIndexError

LANGUAGES = {"de", "en", "es", "fr", "id", "it", "ja", "ko", "pt", "ru", "zh"}
OTHER = "st:someone/else"


class Words:
    """An encoder whose vectors show the feeling of the seed that a text is, and nothing of other texts."""

    id = OTHER
    ready = True

    def __init__(self, dimensions: int = 16, failures: int = 0) -> None:
        self.dimensions = dimensions
        self.failures = failures
        self.asked = 0
        self._feeling = {line.text: min(line.feelings, default="") for line in seeds()[1]}

    async def embed_query(self, texts: Sequence[str]) -> Vector:
        return await self.embed_passages(texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vector:
        self.asked += len(texts)
        if self.failures:
            self.failures -= 1
            raise SearchIndexError("the server is away")
        rows = np.random.default_rng(len(texts)).normal(size=(len(texts), self.dimensions)) * 0.1
        for row, text in zip(rows, texts, strict=True):
            if feeling := self._feeling.get(text):
                row[EMOTIONS.index(feeling)] += 1
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_every_language_has_twelve_seeds_for_each_emotion_and_some_without() -> None:
    languages, lines = seeds()
    assert set(languages) == LANGUAGES
    counts = Counter(
        (language, min(line.feelings, default="neutral"))
        for language, line in zip(languages, lines, strict=True)
    )
    for language in LANGUAGES:
        assert all(counts[language, name] >= 12 for name in EMOTIONS), language
        assert counts[language, "neutral"] >= 8


def test_no_seed_stands_twice_and_each_is_one_short_line() -> None:
    texts = [" ".join(line.text.casefold().split()) for line in seeds()[1]]
    assert len(texts) == len(set(texts))
    assert all(2 <= len(text) <= 120 for text in texts)


def test_stage_directions_are_among_the_seeds_of_every_emotion() -> None:
    languages, lines = seeds()
    played = Counter(
        (language, min(line.feelings))
        for language, line in zip(languages, lines, strict=True)
        if "*" in line.text and line.feelings
    )
    assert all(played[language, name] >= 2 for language in LANGUAGES for name in EMOTIONS)


@pytest.mark.parametrize(
    ("language", "script"),
    [("de", "LATIN"), ("id", "LATIN"), ("ja", "KANA"), ("ko", "HANGUL"), ("ru", "CYRILLIC"), ("zh", "HAN")],
)
def test_a_file_holds_the_language_it_is_named_after(language: str, script: str) -> None:
    languages, lines = seeds()
    spoken = "\n".join(line.text for name, line in zip(languages, lines, strict=True) if name == language)
    assert main_script(spoken) == script


async def test_a_head_is_fitted_once_and_found_again(tmp_path: Path) -> None:
    encoder = Words()
    scorer = SeededScorer(encoder=encoder, folder=tmp_path)
    assert not scorer.ready
    await scorer.prepare()
    assert scorer.ready
    assert scorer.source.startswith("head:st-someone-else-seeds-")
    vector = await encoder.embed_passages(["*slams the door so hard that the windows rattle*"])
    assert EMOTIONS[int(scorer.scores(vector)[0].argmax())] == "anger"
    asked = encoder.asked
    again = SeededScorer(encoder=encoder, folder=tmp_path)
    assert again.ready
    await again.prepare()
    assert encoder.asked == asked
    assert again.scores(vector) == pytest.approx(scorer.scores(vector))


async def test_another_encoder_finds_no_head_of_this_one(tmp_path: Path) -> None:
    await SeededScorer(encoder=Words(), folder=tmp_path).fit()
    other = Words()
    other.id = "st:someone/other"
    assert not SeededScorer(encoder=other, folder=tmp_path).ready


async def test_vectors_of_another_length_are_not_read_and_a_new_head_is_fitted(tmp_path: Path) -> None:
    await SeededScorer(encoder=Words(16), folder=tmp_path).fit()
    changed = Words(24)
    scorer = SeededScorer(encoder=changed, folder=tmp_path)
    assert not scorer.ready
    await scorer.fit()
    assert scorer.scores(await changed.embed_passages(["x"])).shape == (1, 8)


async def test_a_trained_head_goes_before_a_fitted_one(tmp_path: Path) -> None:
    encoder = Words()
    await SeededScorer(encoder=encoder, folder=tmp_path).fit()
    fitted = EmotionHead.read(seed_head_path(tmp_path, OTHER))
    EmotionHead("trained", fitted.weights, fitted.thresholds).write(head_path(tmp_path, OTHER))
    assert SeededScorer(encoder=encoder, folder=tmp_path).source == "head:trained"


async def test_a_trained_head_for_other_vectors_is_passed_over_without_fitting_again(tmp_path: Path) -> None:
    encoder = Words(24)
    await SeededScorer(encoder=encoder, folder=tmp_path).fit()
    fitted = EmotionHead.read(seed_head_path(tmp_path, OTHER))
    await SeededScorer(encoder=Words(16), folder=tmp_path / "former").fit()
    former = EmotionHead.read(seed_head_path(tmp_path / "former", OTHER))
    EmotionHead("trained", former.weights, former.thresholds).write(head_path(tmp_path, OTHER))
    asked = encoder.asked
    scorer = SeededScorer(encoder=encoder, folder=tmp_path)
    assert not scorer.ready
    await scorer.fit()
    assert scorer.source == fitted.source
    assert encoder.asked == asked


async def test_the_bundled_encoder_has_its_own_head_at_once(tmp_path: Path) -> None:
    encoder = Words(384)
    encoder.id = "minilm-l6-v2:384:0123"
    assert SeededScorer(encoder=encoder, folder=tmp_path).ready


@pytest.mark.parametrize("left", [b"cut off", b"", b"PK\x03\x04"], ids=["cut off", "empty", "begun"])
async def test_heads_of_former_seeds_go_and_a_broken_one_is_made_again(tmp_path: Path, left: bytes) -> None:
    path = seed_head_path(tmp_path, OTHER)
    former = path.with_name(f"{path.stem.rpartition('-')[0]}-00000000.npz")
    path.parent.mkdir(parents=True)
    path.write_bytes(left)
    former.write_bytes(b"old")
    scorer = SeededScorer(encoder=Words(), folder=tmp_path)
    assert not scorer.ready
    await scorer.fit()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_an_encoder_that_is_away_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(seed_head, "PATIENCE_SECONDS", 0.0)
    caplog.set_level(logging.WARNING)
    scorer = SeededScorer(encoder=Words(failures=2), folder=tmp_path)
    async with asyncio.timeout(20):
        await scorer.prepare()
    assert scorer.ready
    assert caplog.text.count("Feelings cannot be read yet: the server is away") == 2
