"""An encoder that no head was trained for: the bundled model under another name, with its real vectors."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bot.adapters import seed_head
from bot.adapters.emotion_head import EmotionHead, head_path
from bot.adapters.seed_head import SeededScorer, seed_head_path, seeds
from bot.adapters.sentence_model import bundled_folder
from bot.core.emotion import EMOTIONS
from bot.core.labelled_lines import XED_LABELS
from bot.encoders import encoder_of
from bot.settings import Settings
from bot.training import train_head
from tests.adapters.test_emotion_head import PLAIN

NUMBER = {name: number for number, names in XED_LABELS.items() for name in names}


@pytest.fixture
def other(tmp_path: Path) -> Settings:
    """Settings that name the bundled model by a folder of its own."""
    folder = tmp_path / "somebodys-model"
    folder.symlink_to(bundled_folder())
    return Settings.load({"EMBEDDING_MODEL": str(folder), "DATA_DIR": str(tmp_path / "data")}, None)


@pytest.fixture
def few_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """English, and a language that the model does not understand."""
    folder = tmp_path / "seeds"
    folder.mkdir()
    for name in ("en.txt", "zh.txt"):
        shutil.copy(seed_head.SEEDS / name, folder / name)
    monkeypatch.setattr(seed_head, "SEEDS", folder)


@pytest.mark.timeout(240)
@pytest.mark.usefixtures("few_seeds")
async def test_a_head_from_seeds_reads_plain_feelings(other: Settings) -> None:
    async with encoder_of(other) as encoder:
        scorer = SeededScorer(encoder=encoder, folder=other.data_dir)
        assert not scorer.ready
        await scorer.prepare()
        scores = scorer.scores(await encoder.embed_passages([text for text, _ in PLAIN]))
        assert SeededScorer(encoder=encoder, folder=other.data_dir).ready
    read = [EMOTIONS[int(row.argmax())] for row in scores]
    assert sum(one == true for one, (_, true) in zip(read, PLAIN, strict=True)) >= 6
    assert (scores.max(axis=1) - scores.min(axis=1) > 1).all(), "no plain feeling is flat"


@pytest.mark.timeout(240)
async def test_a_head_is_trained_for_it_and_goes_before_the_one_from_seeds(
    other: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names, lines = seeds()
    file = tmp_path / "lines.tsv"
    english = [line for name, line in zip(names, lines, strict=True) if name == "en"]
    rows = [f"{line.text}\t{NUMBER[min(line.feelings)] if line.feelings else 0}" for line in english]
    file.write_text("\n".join(rows), encoding="utf-8")
    assert await train_head(other, [file], None) == 0
    async with encoder_of(other) as encoder:
        path = head_path(other.data_dir, encoder.id)
        assert "mean_auc" in capsys.readouterr().out
        head = EmotionHead.read(path)
        assert (head.name, head.dimensions) == (path.stem, 384)
        head.write(seed_head_path(other.data_dir, encoder.id))
        assert SeededScorer(encoder=encoder, folder=other.data_dir).source == f"head:{path.stem}"
