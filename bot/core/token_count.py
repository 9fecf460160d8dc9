"""Estimates tokens from characters, by script, and learns from what the server counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil

# Starting values, tokens per character, on the high side: common tokenizers spend about 0.25 on an
# English letter, 0.5 on a Cyrillic one, and around one on a Chinese or Japanese character.
_START = {"latin": 0.33, "letters": 0.62, "dense": 1.25, "symbols": 2.0}
_PER_MESSAGE = 5  # role marks around each message, as most chat templates write them
_LEARN_FROM = 100  # a shorter prompt is mostly template
_BELIEVABLE = (0.35, 4.0)  # servers that leave out cached tokens report far too few
_SLOWEST = 0.15
_MARGIN = 1.05

_DENSE = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1100, 0x11FF),  # Hangul parts
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x9FFF),  # kana, Chinese, Japanese and Korean marks
    (0xA960, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),
    (0xFF00, 0xFFEF),  # full width
    (0x20000, 0x3FFFF),
)


@dataclass(slots=True)
class TokenCounter:
    """A running estimate of tokens per character for one tokenizer.

    Starts conservatively, and each `learn` moves it towards what the server counted, the first by
    the whole difference, later ones less and less, down to 15%. Estimates carry a margin of 5%.
    """

    _rates: dict[str, float] = field(default_factory=lambda: dict(_START))
    _seen: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_START, 0.0))

    def count(self, text: str) -> int:
        """Return the estimated tokens of `text`, rounded up; 0 only for an empty one."""
        return ceil(_MARGIN * sum(self._parts([text]).values()))

    def learn(self, texts: Iterable[str], prompt_tokens: int) -> None:
        """Take in that a prompt of messages with these texts was `prompt_tokens` long."""
        texts = list(texts)
        parts = self._parts(texts)
        estimate = sum(parts.values())
        measured = prompt_tokens - _PER_MESSAGE * len(texts)
        if estimate < _LEARN_FROM or not _BELIEVABLE[0] <= measured / estimate <= _BELIEVABLE[1]:
            return
        error = measured / estimate - 1
        for script, part in parts.items():
            share = part / estimate
            speed = max(_SLOWEST, 1 / (1 + self._seen[script]))
            self._rates[script] *= 1 + speed * share * error
            self._seen[script] += share

    def _parts(self, texts: Iterable[str]) -> dict[str, float]:
        parts = dict.fromkeys(self._rates, 0.0)
        for text in texts:
            if text.isascii():  # by far the most; counting each character would show in every reply
                parts["latin"] += len(text) * self._rates["latin"]
                continue
            for character, times in Counter(text).items():
                script = _script(character)
                parts[script] += times * self._rates[script]
        return parts


def _script(character: str) -> str:
    code = ord(character)
    if code < 0x250:
        return "latin"
    if any(first <= code <= last for first, last in _DENSE):
        return "dense"
    return "letters" if character.isalpha() else "symbols"
