"""Word search over one story: exact, incremental BM25 that forgets without a trace."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt

from bot.core.postings import Postings
from bot.core.story_rows import NONE, Mask, Rows, StoryRows
from bot.core.tokens import date_words, query_tokens, tokens
from bot.core.word_forms import ENGLISH, WordForms

__all__ = [
    "LexicalHits",
    "LexicalIndex",
    "WordScores",
    "date_words",
    "no_hits",
    "query_tokens",
    "same_sitting",
    "text_key",
    "tokens",
]

K1: Final = 1.2
B: Final = 0.75
SITTING: Final = timedelta(hours=6)

FEW, MANY = 2, 5
"""From so many words of a query on a match in one of them, or in two, may be chance."""
LONE: Final = 0.05
"""What is left of the score of a match in one word: enough to be found where nothing else is."""
PAIR: Final = 0.5
"""What is left of one in two words."""
TELLING: Final = 0.4
"""The share of the ceiling from which no match is chance: one word that is nearly all of the query."""

DENSE: Final = 16
"""A word held by more than one row in sixteen is counted over all rows at once."""
SPARSE: Final = 400
"""Below one row in so many, sorting the rows found is cheaper than looking through all."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """Memories that share words with a query, best first; arrays of one length.

    `bm25` scores a memory's own words, `bm25_context` those of it with the two turns before and the
    one after. A ceiling is the score of an imaginary memory that holds every word of the query many
    times: a score over its ceiling is a share (0 to 1) that stays low where the match is weak.
    """

    ids: npt.NDArray[np.int64]
    bm25: Floats
    bm25_context: Floats
    ceiling: float
    ceiling_context: float


def text_key(speaker: str, created_at: datetime, text: str) -> str:
    """Return the words under which a turn is found: who spoke, on which day, and what."""
    return f"{speaker} {date_words(created_at)} {text}"


def same_sitting(earlier: datetime, later: datetime) -> bool:
    """Tell whether one turn still stands in the other's context: up to six hours apart."""
    return abs(later - earlier) <= SITTING


class LexicalIndex:
    """The words of one story's memories. Not safe for use from two threads at once.

    Frequencies, lengths and ceilings are counted over the rows a search may see, so that what a
    persona never witnessed does not even colour its scores. The context key is not stored: a row knows
    its neighbours, and a search adds up their counts. So an erased row leaves its neighbours' context
    too, at once, and what is hidden from a search is hidden from it there as well.
    """

    def __init__(self, forms: WordForms = ENGLISH) -> None:
        """`forms` are those of the story's language."""
        self._forms = forms
        self._postings = Postings()
        self._rows = StoryRows()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, memory_id: int) -> bool:
        return self._rows.row_of(memory_id) is not None

    def knows(self, word: str) -> bool:
        """Tell whether any living memory holds a token."""
        return word in self._postings

    def query_tokens(self, text: str) -> list[str]:
        """Return the distinct tokens to search for, cut as the index cuts its texts."""
        return self._forms.query_tokens(text)

    def add(
        self,
        memory_id: int,
        key: str,
        *,
        previous_id: int | None = None,
        place_id: int = 0,
        audience_id: int = 0,
    ) -> None:
        """Add a memory under its `text_key`; a known id is replaced and keeps its neighbours.

        `previous_id` is the memory of the turn before it in the same scene and sitting; it may be added
        later. None for what stands alone (facts, reflections).
        """
        if self.replace(memory_id, key):
            return
        words = self._forms.tokens(key)
        self._postings.append(words)
        row = self._rows.append(memory_id, len(words), place_id, audience_id)
        if previous_id is not None:
            self._rows.follow(row, previous_id)

    def replace(self, memory_id: int, key: str) -> bool:
        """Give a memory other words (an edited turn). False when it is not here."""
        row = self._rows.row_of(memory_id)
        if row is None:
            return False
        words = self._forms.tokens(key)
        self._postings.clear(row)
        self._postings.fill(row, words)
        self._rows.resize(row, len(words))
        return True

    def remove(self, memory_id: int) -> bool:
        """Erase a memory: no result, no statistic and no byte of its words is left. False when not here."""
        row = self._rows.drop(memory_id)
        if row is None:
            return False
        self._postings.clear(row)
        return True

    def search(
        self,
        query: Sequence[str],
        *,
        audiences: Collection[int] | None = None,
        places: Collection[int] | None = None,
        limit: int = 100,
        also: Iterable[int] = (),
    ) -> LexicalHits:
        """Return the `limit` best of the memories that `audiences` and `places` allow (None: all).

        `query` holds tokens (`query_tokens`). `also` names memories found by other means: the allowed
        ones are returned too, whatever their score, so that they can be compared.
        """
        return self.score(query, audiences=audiences, places=places).best(limit, also)

    def score(
        self,
        query: Sequence[str],
        *,
        audiences: Collection[int] | None = None,
        places: Collection[int] | None = None,
    ) -> WordScores:
        """Return the scores of all memories that `audiences` and `places` allow, to be looked at as often as
        one likes."""
        visible = self._rows.visible(audiences, places)
        total = int(np.count_nonzero(visible))
        found = _Search(self._rows, visible, total)
        if total:
            for word in dict.fromkeys(query):
                found.add(self._postings.of(word))
            found.doubt()
        return WordScores(self._rows, found)


class _Search:
    """Scores of one search, over all rows: own words in `own`, with their context in `context`.

    Arrays over rows have one place more than there are rows: it stands for "no neighbour" and is never
    visible, so that links need no test of their own.
    """

    def __init__(self, rows: StoryRows, visible: Mask, total: int) -> None:
        self.total = total
        self.visible = np.append(visible, np.False_)
        self.own = np.zeros(len(self.visible), dtype=np.float32)
        self.context = np.zeros(len(self.visible), dtype=np.float32)
        self._counts = np.zeros(len(self.visible), dtype=np.float32)
        self._words = 0
        self._met = np.zeros(len(self.visible), dtype=np.uint16)
        self._met_context = np.zeros(len(self.visible), dtype=np.uint16)
        self._before, self._after = np.append(rows.before(), NONE), np.append(rows.after(), NONE)
        self._second = self._after.take(self._after)
        self._ceiling = self._ceiling_context = 0.0
        lengths = np.append(rows.lengths(), np.float32(0)) * self.visible
        self._norm = _norms(lengths, total)
        self._norm_context = _norms(self._around(lengths), total)

    def add(self, posting: tuple[Rows, Floats] | None) -> None:
        """Add one word of the query; a word that no visible row holds only raises the ceilings."""
        self._words += 1
        if posting is None:
            self._raise_ceilings(1, 1)
            return
        rows, counts = posting
        seen = self.visible.take(rows)
        rows, counts = rows[seen], counts[seen]
        wide: slice | Rows
        if len(rows) * DENSE > len(self.visible):
            wide, around = self._everywhere(rows, counts)
        else:
            wide, around = self._nearby(rows, counts)
        weight, weight_context = self._raise_ceilings(len(rows), int(np.count_nonzero(around)))
        self.own[rows] += weight * counts / (counts + self._norm[rows])
        self.context[wide] += weight_context * around / (around + self._norm_context[wide])
        self._met[rows] += 1
        self._met_context[wide] += around > 0

    def doubt(self) -> None:
        """Lower the scores of rows that share so few of several words that chance explains it.

        In a short story every word is rare, so frequency cannot tell: "What broke while you were outside?"
        has nothing to do with a knock from outside.
        """
        for score, met, ceiling in (
            (self.own, self._met, self._ceiling),
            (self.context, self._met_context, self._ceiling_context),
        ):
            doubtful = score < TELLING * ceiling
            if self._words >= FEW:
                score[doubtful & (met == 1)] *= LONE
            if self._words >= MANY:
                score[doubtful & (met == 2)] *= PAIR

    def ceilings(self) -> tuple[float, float]:
        """Return the highest score that own words and context can come near to; never 0."""
        return self._ceiling or 1.0, self._ceiling_context or 1.0

    def _raise_ceilings(self, own: int, context: int) -> tuple[float, float]:
        weights = (K1 + 1) * _idf(self.total, own), (K1 + 1) * _idf(self.total, context)
        self._ceiling += weights[0]
        self._ceiling_context += weights[1]
        return weights

    def _around(self, values: Floats) -> Floats:
        """Return each visible row's value plus those of the two rows before it and the one after."""
        before = values.take(self._before)
        summed = values + before
        summed += before.take(self._before)
        summed += values.take(self._after)
        summed *= self.visible
        return summed

    def _everywhere(self, rows: Rows, counts: Floats) -> tuple[slice, Floats]:
        """Return all rows with their context's counts: cheaper than picking, for a frequent word."""
        self._counts[rows] = counts
        around = self._around(self._counts)
        self._counts[rows] = 0
        return slice(None), around

    def _nearby(self, rows: Rows, counts: Floats) -> tuple[Rows, Floats]:
        """Return the visible rows in whose context a rarer word stands, and its counts there."""
        self._counts[rows] = counts
        reached = [rows]
        for links in (self._after, self._second, self._before):
            targets = links.take(rows)
            seen = self.visible.take(targets)
            targets = targets[seen]
            self._counts[targets] += counts[seen]
            reached.append(targets)
        if len(rows) * SPARSE > len(self.visible):
            wide = np.flatnonzero(self._counts)
        else:
            wide = np.unique(np.concatenate(reached))
        around = self._counts.take(wide)
        self._counts[wide] = 0
        return wide, around


class WordScores:
    """What one search found, as the index was then. What left it meanwhile is no result any more; what came
    is none yet."""

    def __init__(self, rows: StoryRows, found: _Search) -> None:
        """Use `LexicalIndex.score`."""
        self._rows = rows
        self._visible = found.visible
        self._own = found.own
        self._context = found.context
        self._ceilings = found.ceilings()

    def best(self, limit: int, also: Iterable[int] = ()) -> LexicalHits:
        """Return those of the highest mean share of both ceilings, and the allowed ones of `also`."""
        shares = self._shares()
        rows = np.flatnonzero(shares)
        if len(rows) > limit:
            rows = rows[np.argpartition(-shares[rows], limit - 1)[:limit]] if limit > 0 else rows[:0]
        rows = np.union1d(rows, self._allowed(also)).astype(np.intp)
        return self._hits(rows[np.argsort(-shares[rows], kind="stable")])

    def of(self, memory_ids: Iterable[int]) -> LexicalHits:
        """Return the allowed ones of these, whatever their score."""
        return self._hits(self._allowed(memory_ids))

    def _shares(self) -> Floats:
        ceiling, ceiling_context = map(np.float32, self._ceilings)
        return self._own / ceiling + self._context / ceiling_context

    def _allowed(self, memory_ids: Iterable[int]) -> Rows:
        rows = self._rows.rows_of(memory_ids)
        rows = rows[rows < len(self._visible)]
        return rows[self._visible[rows]]

    def _hits(self, rows: Rows) -> LexicalHits:
        ids = self._rows.ids(rows)
        rows, ids = rows[ids != NONE], ids[ids != NONE]
        return LexicalHits(ids, self._own[rows], self._context[rows], *self._ceilings)


def _norms(lengths: Floats, total: int) -> Floats:
    """Return BM25's length term of each row; above 0 also where nothing is."""
    average = max(float(lengths.sum(dtype=np.float64)) / max(total, 1), 1e-9)
    return np.float32(K1 * (1 - B)) + lengths * np.float32(K1 * B / average)


def _idf(total: int, holding: int) -> float:
    """Robertson's inverse document frequency; a word nobody holds counts as one that a single row does."""
    holding = max(holding, 1)
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def no_hits() -> LexicalHits:
    """Return the outcome of a search that finds nothing."""
    empty = np.zeros(0, dtype=np.float32)
    return LexicalHits(np.zeros(0, dtype=np.int64), empty, empty, 1.0, 1.0)
