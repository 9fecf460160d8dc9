"""Which share of the evidence turns of LoCoMo's questions recall brings back, with no language model."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks._encoding import Encoding, say
from bot.adapters.emotion_head import EmotionHead
from bot.core.candidates import Candidate, Query, RecallSettings
from bot.core.emotion import FLAT
from bot.core.lexical import LexicalIndex, same_sitting, text_key
from bot.core.mood import Mood, at_rest, current, query_emotion, update
from bot.core.recall import rank
from bot.core.strategies import Strategy
from bot.core.tokens import MONTHS
from bot.core.vectors import Vector
from bot.engine.searching import BY_MEANING, BY_WORDS

WORDS: Final = 1000
CUTS: Final = (5, 10, 20)
JUDGED: Final = (1, 2, 3, 4)
"""Question categories; the fifth asks about what was never said."""
_EVERY_TURN: Final = timedelta(seconds=40)
_DATE = re.compile(r"(?:(\d+):(\d+)\s*([ap])m\s+on\s+)?(\d{1,2})\s+(\w+),?\s+(\d{4})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """One message of a dialogue; a shared picture's caption belongs to its text."""

    id: str
    speaker: str
    text: str
    created_at: datetime

    @property
    def words(self) -> int:
        """Words of the turn as it is shown, speaker included."""
        return len(f"{self.speaker}: {self.text}".split())


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the positions of the turns that hold its evidence."""

    text: str
    category: int
    gold: frozenset[int]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A long dialogue of two people, with questions about it."""

    id: str
    turns: tuple[SpokenTurn, ...]
    questions: tuple[Question, ...]


def run(arguments: Sequence[str]) -> dict[str, float]:
    """Return turn-level evidence recall over categories 1–4, as shares.

    `recall@k` of the shipped recall with its default settings, `recall@1000w` of the list cut at 1,000
    words, and `bm25_recall@10` of the lexical key alone (speaker, date and text, no context, no meaning).
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks locomo", description=__doc__)
    parser.add_argument("data", type=Path, help="a file of LoCoMo dialogues")
    parser.add_argument("--ranked", type=Path, help="write the ranked turn ids of every question here")
    parser.add_argument("--model", default="bundled", help="the embedding model (EMBEDDING_MODEL)")
    parser.add_argument("--strategy", type=Strategy, default=Strategy.BALANCED, help="recall_strategy")
    chosen = parser.parse_args(arguments)
    dialogues = read(json.loads(chosen.data.read_text(encoding="utf-8")))
    settings = RecallSettings(strategy=chosen.strategy, k=WORDS)
    ranked: dict[str, list[list[str]]] = {}
    scores: list[dict[str, float]] = []
    with Encoding(chosen.model) as encoding:
        head = EmotionHead.load(encoding.encoder.id)
        for dialogue in dialogues:
            memory = DialogueMemory(dialogue, encoding, head)
            ranked[dialogue.id] = []
            vectors = encoding.queries([question.text for question in dialogue.questions])
            for question, vector in zip(dialogue.questions, vectors, strict=True):
                places, plain = memory.recall(question.text, vector, settings)
                ranked[dialogue.id].append([dialogue.turns[place].id for place in places])
                if question.category in JUDGED and question.gold:
                    scores.append(_score(dialogue, question.gold, places, plain))
    if chosen.ranked is not None:
        chosen.ranked.write_text(json.dumps(ranked), encoding="utf-8")
    say(f"{len(scores)} questions of {len(dialogues)} dialogues")
    return {key: float(np.mean([score[key] for score in scores])) for key in scores[0]}


class DialogueMemory:
    """One dialogue as a story's long-term memory: the shipped word index, encoder, head and ranking."""

    def __init__(self, dialogue: Dialogue, encoding: Encoding, head: EmotionHead | None) -> None:
        self._dialogue = dialogue
        self._head = head
        self._words = LexicalIndex()
        previous = None
        for place, turn in enumerate(dialogue.turns):
            close = previous is not None and same_sitting(
                dialogue.turns[previous].created_at, turn.created_at
            )
            key = text_key(turn.speaker, turn.created_at, turn.text)
            self._words.add(place, key, previous_id=previous if close else None)
            previous = place
        passages = [f"{turn.speaker}: {turn.text}" for turn in dialogue.turns]
        self._vectors = encoding.passages(passages, dialogue.id)
        self._emotions = head.scores(self._vectors) if head else None
        self._mood = self._felt()

    def recall(self, text: str, vector: Vector, settings: RecallSettings) -> tuple[list[int], list[int]]:
        """Return the places of turns, best first: by the shipped recall, and by the lexical key alone."""
        cosines = self._vectors @ vector
        nearest = np.argsort(-cosines, kind="stable")[:BY_MEANING].tolist()
        words = self._words.query_tokens(text)
        hits = self._words.search(words, limit=BY_WORDS, also=nearest)
        heard = self._head.scores(vector[None])[0] if self._head else None
        query = Query(
            text=text,
            ceiling=hits.ceiling,
            ceiling_context=hits.ceiling_context,
            emotion=query_emotion(self._mood, heard),
            mood=current(self._mood),
        )
        numbers = dict(zip(hits.ids.tolist(), zip(hits.bm25, hits.bm25_context, strict=True), strict=True))
        candidates = [
            self._candidate(place, numbers.get(place, (0.0, 0.0)), float(cosines[place]))
            for place in sorted(numbers.keys() | set(nearest))
        ]
        ranked = [item.memory_id for item in rank(candidates, query, settings)]
        return ranked, self._by_words(words)

    def _candidate(self, place: int, numbers: tuple[float, float], cosine: float) -> Candidate:
        turn = self._dialogue.turns[place]
        return Candidate(
            memory_id=place,
            text=turn.text,
            speaker=turn.speaker,
            created_at=turn.created_at,
            bm25=float(numbers[0]),
            bm25_context=float(numbers[1]),
            cosine=cosine,
            emotion=None if self._emotions is None else self._emotions[place],
            emotion_source=None if self._head is None else self._head.source,
        )

    def _by_words(self, words: Sequence[str]) -> list[int]:
        every = self._words.search(words, limit=len(self._dialogue.turns))
        return [int(every.ids[at]) for at in np.argsort(-every.bm25, kind="stable") if every.bm25[at] > 0]

    def _felt(self) -> Mood:
        """Return the mood of one who has lived through the dialogue, starting even-tempered."""
        mood = at_rest(FLAT, self._dialogue.turns[0].created_at)
        for place, turn in enumerate(self._dialogue.turns):
            heard = None if self._emotions is None else self._emotions[place]
            mood = update(mood, temperament=FLAT, heard=heard, now=turn.created_at)
        return mood


def read(samples: Sequence[dict[str, Any]]) -> list[Dialogue]:
    """Return the dialogues of a LoCoMo file with their questions."""
    return [_dialogue(sample) for sample in samples]


def _dialogue(sample: dict[str, Any]) -> Dialogue:
    turns = tuple(_turns(sample["conversation"]))
    places = {turn.id: place for place, turn in enumerate(turns)}
    questions = []
    for question in sample["qa"]:
        cited = re.findall(r"D:?(\d+):(\d+)", " ".join(map(str, question.get("evidence", []))))
        ids = (f"D{int(session)}:{int(number)}" for session, number in cited)
        gold = frozenset(places[turn_id] for turn_id in ids if turn_id in places)
        questions.append(Question(question["question"], int(question["category"]), gold))
    return Dialogue(sample["sample_id"], turns, tuple(questions))


def _turns(conversation: dict[str, Any]) -> Iterator[SpokenTurn]:
    names = (re.fullmatch(r"session_(\d+)", key) for key in conversation)
    for session in sorted(int(name.group(1)) for name in names if name):
        start = _moment(conversation.get(f"session_{session}_date_time", ""))
        for number, turn in enumerate(conversation[f"session_{session}"]):
            text = turn.get("text", turn.get("clean_text", ""))
            if turn.get("blip_caption"):
                text = f"{text} [shares {turn['blip_caption']}]"
            yield SpokenTurn(turn["dia_id"], turn["speaker"], text, start + number * _EVERY_TURN)


def _moment(text: str) -> datetime:
    """Read "1:56 pm on 8 May, 2023"; what names no day counts as one long ago."""
    found = _DATE.search(text)
    if found is None or found.group(5).lower() not in MONTHS:
        return datetime(1970, 1, 1, tzinfo=UTC)
    hour = int(found.group(1) or 0) % 12 + (12 if (found.group(3) or "").lower() == "p" else 0)
    month = MONTHS.index(found.group(5).lower()) + 1
    day, year = int(found.group(4)), int(found.group(6))
    return datetime(year, month, day, hour, int(found.group(2) or 0), tzinfo=UTC)


def _score(
    dialogue: Dialogue, gold: frozenset[int], places: Sequence[int], plain: Sequence[int]
) -> dict[str, float]:
    shares = {f"recall@{cut}": _share(gold, places[:cut]) for cut in CUTS}
    shares[f"recall@{WORDS}w"] = _share(gold, _within(dialogue, places, gold))
    return {**shares, "bm25_recall@10": _share(gold, plain[:10])}


def _within(dialogue: Dialogue, places: Sequence[int], gold: frozenset[int]) -> list[int]:
    """Return what fits into 1,000 words; the turn that passes the mark counts if nothing was found yet."""
    kept: list[int] = []
    total = 0
    for place in places:
        total += dialogue.turns[place].words
        if total > WORDS and gold & set(kept):
            break
        kept.append(place)
        if total > WORDS:
            break
    return kept


def _share(gold: frozenset[int], places: Sequence[int]) -> float:
    return len(gold & set(places)) / len(gold)
