"""Training from files: it writes a head, reports honest figures, and says when it cannot."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bot.adapters.emotion_head import EmotionHead
from bot.core.vectors import Vector
from bot.train_emotion import measure, train

WORDS = ("calm", "rage", "hope", "gross", "fright", "delight", "gloom", "gasp", "faith")
"""Word n stands for XED's label n."""


def encode(texts: Sequence[str]) -> Vector:
    rows = np.full((len(texts), 16), 0.01, dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for number, word in enumerate(WORDS):
            row[number] += word in text
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def write(folder: Path, count: int = 4500) -> list[Path]:
    xed, forum = folder / "en.tsv", folder / "forum.tsv"
    rows = [f"{WORDS[n % 9]} number {n}\t{n % 9}" for n in range(count)]
    xed.write_text("\n".join(["a broken line", *rows, rows[0]]), encoding="utf-8")
    forum.write_text("rage again\t2\tx1\nnothing\t27\tx2\n", encoding="utf-8")
    return [xed, forum]


def test_a_head_is_written_and_measured(tmp_path: Path) -> None:
    heard: list[str] = []
    out = tmp_path / "head.npz"
    figures = train(write(tmp_path), encode=encode, out=out, progress=heard.append, name="tiny")
    assert figures["macro_f1"] > 0.9
    assert figures["mean_auc"] > 0.95
    assert 200 < figures["n"] < 700
    assert figures["trained_on"] > 2000
    head = EmotionHead.read(out)
    assert head.source == "head:tiny"
    assert int(head.scores(encode(["rage"]))[0].argmax()) == 6
    assert "en.tsv: 4501 lines" in heard
    assert any("fitting 3 of 3" in line for line in heard)


def test_too_few_lines_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "few.tsv"
    file.write_text("rage\t1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="too few"):
        train([file], encode=encode, out=tmp_path / "head.npz", progress=lambda _: None)
    assert not (tmp_path / "head.npz").exists()


def test_an_emotion_that_no_line_shows_has_no_auc(tmp_path: Path) -> None:
    train(write(tmp_path), encode=encode, out=tmp_path / "head.npz", progress=lambda _: None)
    head = EmotionHead.read(tmp_path / "head.npz")
    truth = np.zeros((2, 8), dtype=np.float32)
    truth[0, 6] = 1
    figures = measure(head, encode(["rage", "calm"]), truth)
    assert figures["mean_auc"] == 1.0
    assert np.isnan(measure(head, encode(["calm"]), truth[1:])["mean_auc"])
