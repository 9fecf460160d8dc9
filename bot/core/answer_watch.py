"""Watches a background answer as it is written, so that a hopeless one does not cost minutes."""

from __future__ import annotations

from typing import Final

from bot.core.repeats import LOOP_SEEN, goes_round

_PATIENCE: Final = 400
_END: Final = 60
_TIMES: Final = 4


class AnswerWatcher:
    """Give `feed` to the model as `on_text`; `stopped` then counts as a cut answer."""

    def __init__(self) -> None:
        self._tail = ""
        self._length = 0
        self._begun = False
        self.stopped = False

    def feed(self, delta: str) -> bool:
        """Return False when it goes round in circles, or has said much and begun no object."""
        self._tail = (self._tail + delta)[-LOOP_SEEN:]
        self._length += len(delta)
        self._begun = self._begun or "{" in delta
        hopeless = self._length > _PATIENCE and not self._begun
        self.stopped = self.stopped or hopeless or _same_again(self._tail)
        return not self.stopped


def _same_again(tail: str) -> bool:
    """Whole stretches come again to the letter; equal feelings still differ by the numbers of their turns."""
    if not goes_round(tail):
        return False
    stretch = len(tail) - _END - tail.rfind(tail[-_END:], 0, -1)
    return tail.endswith(tail[-stretch:] * _TIMES)
