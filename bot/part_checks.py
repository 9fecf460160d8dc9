"""The rows of `python -m bot check` that try a part: database, search index, embedding and language model."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bot.core.chat import ChatMessage, ChatModel
from bot.core.ports import Encoder
from bot.errors import ModelError, TroupeError
from bot.self_check import Row, failed, ok, warning

_TEXTS: Final = (
    "The old lighthouse keeper lit the lamp although no ship was due.",
    "She laughed so hard that the tea went cold.",
    "He never came back for the silver key.",
    "Rain again, and the ferry is late.",
    "They argued until the candles burned down.",
)
_ONE_WORD: Final = (ChatMessage("user", "Answer with one word only: what is the colour of snow?"),)
_SOME_WORDS: Final = (ChatMessage("user", "Tell me in two sentences how rain sounds on a roof."),)
_MANY_TURNS: Final = 200


def database_rows(described: Mapping[str, int | str]) -> list[Row]:
    """From `SqlStore.describe()`: whether the file is sound, what is in it, what waits to be summarised."""
    if described["check"] != "ok":
        text = f"{described['path']} is damaged ({described['check']}): put a backup of DATA_DIR in its place"
        return [failed("database", text)]
    size = int(described["size_bytes"]) / 1e6
    counts = ", ".join(f"{described[name]} {name}" for name in ("personas", "scenes", "turns", "memories"))
    waiting = int(described["turns_to_summarise"])
    row = warning if waiting > _MANY_TURNS else ok
    return [
        ok("database", f"schema {described['schema']}, {size:.1f} MB: {counts}"),
        row(
            "notes", f"{waiting} turns wait to be summarised" if waiting else "no turn waits to be summarised"
        ),
    ]


async def encoder_row(encoder: Encoder, note: str = "") -> Row:
    """Load the embedding model (or ask its server) and time it, one short text at a time."""
    try:
        await encoder.embed_query(_TEXTS[:1])  # loads the model
        times = [await _seconds(encoder, text) for text in _TEXTS[1:]]
    except TroupeError as problem:
        return failed("embedding model", str(problem))
    milliseconds = statistics.median(times) * 1000
    return ok(
        "embedding model",
        f"{encoder.id}, {encoder.dimensions} dimensions, {milliseconds:.0f} ms a text{note}",
    )


async def _seconds(encoder: Encoder, text: str) -> float:
    began = time.perf_counter()
    await encoder.embed_query([text])
    return time.perf_counter() - began


async def model_row(model: ChatModel) -> Row:
    """Ask the language model for one word, then for some more to see how fast it writes."""
    try:
        began = time.perf_counter()
        word = await model.complete(_ONE_WORD, purpose="check", max_tokens=16)
        first = time.perf_counter() - began
        began = time.perf_counter()
        more = await model.complete(_SOME_WORDS, purpose="check", max_tokens=64)
        second = time.perf_counter() - began
        context = await model.context_tokens()
    except ModelError as problem:
        return failed("language model", str(problem))
    tokens = more.usage.completion_tokens if more.usage else model.count_tokens(more.text)
    answer = " ".join(word.text.split())[:30]
    size = f", context {context} tokens" if context else ""
    return ok(
        "language model",
        f"{model.name} answered “{answer}” in {first:.1f} s; {tokens / second:.0f} tokens/s{size}",
    )


def index_row(*, damaged: bool, new: bool, path: Path) -> Row:
    """The search index. It can always be built again, so it never keeps the bot from starting."""
    if damaged:
        return warning("search index", f"{path} is damaged; `python -m bot reindex` builds it again")
    return ok("search index", f"LanceDB at {path}" + (" (new)" if new else ""))
