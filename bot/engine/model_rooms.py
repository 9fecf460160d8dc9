"""How long a prompt each model takes, as far as refusals of its server taught."""

from __future__ import annotations


class ModelRooms:
    """Sizes in tokens by a model's name; `tokens` is the size that holds until a refusal says less."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        self._learned: dict[str, int] = {}

    def of(self, model: str) -> int:
        """The longest prompt to make for a model."""
        return self._learned.get(model, self._tokens)

    def learn(self, model: str, tokens: int) -> None:
        """A model takes no more than this; a bigger size than before is not believed."""
        self._learned[model] = min(tokens, self.of(model))
