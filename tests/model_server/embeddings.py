"""What the scripted server answers to a request for embeddings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tests.model_server.behaviours import Behaviour
from tests.model_server.wire import Exchange


@dataclass(frozen=True)
class Embed(Behaviour):
    """Answer each text with a vector that its letters choose, not of unit length.

    reverse: the entries come in another order than the texts. fewer: how many are left out.
    most_characters: a longer text is refused. broken: the vectors are what they should not be.
    model: another one has other vectors.
    """

    dimensions: int = 8
    reverse: bool = False
    fewer: int = 0
    most_characters: int | None = None
    broken: bool = False
    model: str = ""

    async def play(self, exchange: Exchange) -> None:
        given = exchange.body.get("input")
        texts = [str(text) for text in given] if isinstance(given, list) else [str(given)]
        if self.most_characters is not None and any(len(text) > self.most_characters for text in texts):
            words = "This model's maximum context length is 512 tokens, however you requested 9999 tokens"
            await exchange.send_json({"error": {"message": words}}, 400)
            return
        entries: list[object] = [
            {
                "object": "embedding",
                "index": number,
                "embedding": [0.0] * self.dimensions if self.broken else self._vector(text),
            }
            for number, text in enumerate(texts)
        ]
        entries = entries[: len(entries) - self.fewer]
        if self.reverse:
            entries.reverse()
        body = {"object": "list", "model": exchange.model, "data": entries, "usage": {"prompt_tokens": 1}}
        await exchange.send_json(body)

    def _vector(self, text: str) -> list[float]:
        return vector_of(f"{self.model}{text}", self.dimensions)


def vector_of(text: str, dimensions: int) -> list[float]:
    """Return the same numbers for the same text, between 1 and 256."""
    digest = hashlib.sha256(text.encode()).digest()
    return [float(1 + digest[at % len(digest)]) for at in range(dimensions)]
