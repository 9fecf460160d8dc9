"""Style samples: which of them a prompt shows, and which replies become new ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from bot.core.emotion import distances, is_flat
from bot.core.persona_text import MOST_SAMPLES
from bot.core.repeats import ECHO, echo
from bot.core.types import StyleSample

FIRST_FEW: Final = 3
"""The first good replies of a place become samples at once."""
MOST_KEPT: Final = 12
"""No more than so many in one place come by themselves."""
REPLIES_BETWEEN: Final = 8
"""After the first few, so many replies lie between two new samples."""
SHORTEST: Final = 20
"""Characters of a reply that can be a sample."""
_CHANGED_FOR: Final = 0.25
"""What is shown stays until others fit the mood so much better: a change costs the model's prompt cache."""


def fitting(
    samples: Sequence[StyleSample], mood: npt.ArrayLike, *, shown: Collection[int] = ()
) -> tuple[StyleSample, ...]:
    """Return the samples that a prompt shows, at most three, in the order they were made.

    Pinned ones come first, then those whose feeling is nearest to the mood; one of unknown feeling counts
    as average. Without a mood that stands out the oldest are shown. `shown` are the ids that the last
    prompt showed.
    """
    if len(samples) <= MOST_SAMPLES:
        return tuple(samples)
    if is_flat(mood):
        return _ordered(sorted(samples, key=lambda one: (not one.pinned, one.id))[:MOST_SAMPLES])
    far = dict(zip((one.id for one in samples), _distances(samples, mood), strict=True))
    best = sorted(samples, key=lambda one: (not one.pinned, far[one.id], one.id))[:MOST_SAMPLES]
    before = [one for one in samples if one.id in shown]
    pinned = {one.id for one in samples if one.pinned}
    if len(before) == MOST_SAMPLES and len(pinned & {one.id for one in before}) == min(
        len(pinned), MOST_SAMPLES
    ):
        gain = sum(far[one.id] for one in before) - sum(far[one.id] for one in best)
        if gain < _CHANGED_FOR * sum(far[one.id] for one in before):
            return _ordered(before)
    return _ordered(best)


def is_wanted(text: str, samples: Sequence[StyleSample], replies: Sequence[int]) -> bool:
    """Tell whether a good reply becomes a sample too. `samples` are those of the place, `replies` the ids of
    the persona's newest turns there, oldest first."""
    own = [one for one in samples if one.turn_id is not None]
    if len(text) < SHORTEST or len(own) >= MOST_KEPT:
        return False
    if any(echo(text, [one.text]) >= ECHO for one in own):
        return False
    newest = max((one.turn_id or 0 for one in own), default=0)
    return len(own) < FIRST_FEW or sum(turn_id > newest for turn_id in replies) >= REPLIES_BETWEEN


def _distances(samples: Sequence[StyleSample], mood: npt.ArrayLike) -> list[float]:
    known = [one.emotion for one in samples if one.emotion is not None]
    if not known:
        return [0.0] * len(samples)
    found = iter(distances(mood, np.asarray(known)).tolist())
    values = [None if one.emotion is None else next(found) for one in samples]
    given = [value for value in values if value is not None]
    average = sum(given) / len(given)
    return [average if value is None else value for value in values]


def _ordered(samples: Sequence[StyleSample]) -> tuple[StyleSample, ...]:
    return tuple(sorted(samples, key=lambda one: one.id))
