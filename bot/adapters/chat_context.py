"""Asks a model server how many tokens its context holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

Fetch = Callable[[str], Awaitable[object]]
"""Gets parsed JSON from a path ("models" below the base address, "/props" below the server's root);
None when there is none."""

# What a model list says of the context that is really there: vLLM, llama.cpp, LM Studio, OpenRouter,
# Groq, Google's and Anthropic's ways. The size a model was trained with is no promise of the server.
_STATED = (
    "n_ctx", "max_model_len", "loaded_context_length", "context_length", "context_window",
    "max_context_length", "max_input_tokens", "inputTokenLimit", "input_token_limit", "max_seq_len",
)  # fmt: skip
_NESTED = ("meta", "top_provider", "parameters", "default_generation_settings", "details")
_TRAINED_ONLY = frozenset({"ollama", "library", "lmstudio", "organization_owner"})


async def find_context_tokens(fetch: Fetch, model: str) -> int | None:
    """Return the context size that the server states for `model`, in tokens, or None.

    The common model list is asked first. A server that runs models itself may have been started
    with a smaller context than the list says, so its own pages are asked too, and win.
    """
    entry = _entry(await fetch("models"), model)
    stated = _size(entry)
    if stated and entry.get("owned_by") not in {*_TRAINED_ONLY, "llamacpp"}:
        return stated
    for ask in (_llama_cpp, _lm_studio, _ollama, _kobold):
        if found := await ask(fetch, model):
            return found
    return stated


async def _llama_cpp(fetch: Fetch, model: str) -> int | None:
    return _size(_mapping(await fetch("/props")))


async def _lm_studio(fetch: Fetch, model: str) -> int | None:
    entry = _entry(await fetch("/api/v0/models"), model)
    return _positive(entry.get("loaded_context_length"))


async def _ollama(fetch: Fetch, model: str) -> int | None:
    """Return the context of the loaded model; one that is not loaded has no size yet."""
    return _positive(_entry(await fetch("/api/ps"), model).get("context_length"))


async def _kobold(fetch: Fetch, model: str) -> int | None:
    return _positive(_mapping(await fetch("/api/extra/true_max_context_length")).get("value"))


def _entry(listing: object, model: str) -> Mapping[str, object]:
    """Return the model's entry in a list, or the only entry there is."""
    found = _mapping(listing)
    rows = found.get("data") or found.get("models") or (listing if isinstance(listing, list) else [])
    entries = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    for entry in entries:
        if model in {entry.get("id"), entry.get("name"), entry.get("model")}:
            return entry
    return entries[0] if len(entries) == 1 else {}


def _size(entry: Mapping[str, object]) -> int | None:
    """Return the smallest size that an entry states in any of the known fields."""
    places = [entry, *(_mapping(entry.get(name)) for name in _NESTED)]
    sizes = [_positive(place.get(name)) for place in places for name in _STATED]
    return min((size for size in sizes if size), default=None)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
