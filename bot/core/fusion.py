"""The finding score: how well each candidate answers the words and the meaning of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from bot.core.candidates import Candidate, Query
from bot.core.query_hints import is_question, named_days, named_speaker

Floats = npt.NDArray[np.float64]

GAIN: Final = 4.0
"""A good match reaches about a quarter of BM25's ceiling, where the best cosine reaches 1."""
MEANING_OF_QUESTION: Final = 0.5
MEANING_OF_REMARK: Final = 0.9
"""A question names what it wants; a remark shares few words with the memory it should bring back."""
SPEAKER_BOOST: Final = 1.1
DAY_BOOST: Final = 1.1


@dataclass(frozen=True, slots=True)
class Finding:
    """Scores of the candidates, larger is better, and the two shares (about 0 to 1) they are made of."""

    score: Floats
    words: Floats
    meaning: Floats


def find(candidates: Sequence[Candidate], query: Query) -> Finding:
    """Fuse words and meaning by calibrated scores, not by ranks.

    BM25 is taken as a share of the query's own ceiling, own words and context at equal parts; the cosine as
    its place between the lowest and the highest of the pool, since no fixed cut-off survives a change of
    encoder. A candidate without a cosine counts as the lowest. Without any, words alone decide.
    """
    own = np.array([candidate.bm25 for candidate in candidates], dtype=np.float64)
    around = np.array([candidate.bm25_context for candidate in candidates], dtype=np.float64)
    words = (own / (query.ceiling or 1.0) + around / (query.ceiling_context or 1.0)) / 2
    meaning, meant = _meaning(candidates)
    share = (MEANING_OF_QUESTION if is_question(query.text) else MEANING_OF_REMARK) if meant else 0.0
    score = share * meaning + (1 - share) * GAIN * words
    return Finding(score * _boosts(candidates, query), words, meaning)


def _meaning(candidates: Sequence[Candidate]) -> tuple[Floats, bool]:
    """Return the cosines between 0 (lowest of the pool) and 1 (highest), and whether they tell anything."""
    cosines = np.array(
        [np.nan if candidate.cosine is None else candidate.cosine for candidate in candidates],
        dtype=np.float64,
    )
    known = np.isfinite(cosines)
    if not known.any():
        return np.zeros(len(candidates)), False
    lowest, highest = float(cosines[known].min()), float(cosines[known].max())
    if highest <= lowest:
        return known.astype(np.float64), True
    return np.where(known, (np.where(known, cosines, lowest) - lowest) / (highest - lowest), 0.0), True


def _boosts(candidates: Sequence[Candidate], query: Query) -> Floats:
    """Return factors for the named speaker and day: small, since a question may name the wrong one."""
    factors = np.ones(len(candidates))
    speaker = named_speaker(query.text, {candidate.speaker for candidate in candidates})
    if speaker is not None:
        factors[[candidate.speaker == speaker for candidate in candidates]] *= SPEAKER_BOOST
    days = named_days(query.text)
    if days:
        near = [any(day.near(candidate.created_at) for day in days) for candidate in candidates]
        factors[near] *= DAY_BOOST
    return factors
