"""LoCoMo's files are read rightly, and a dialogue's memory answers as the benchmark counts."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from benchmarks import locomo
from bot.core.candidates import RecallSettings
from bot.core.vectors import Vector

SAMPLE = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ann",
        "session_2_date_time": "9:05 am on 3 June, 2023",
        "session_2": [{"dia_id": "D2:1", "speaker": "Bo", "text": "Hello again"}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"dia_id": "D1:1", "speaker": "Ann", "text": "I adopted a turtle", "blip_caption": "a turtle"},
            {"dia_id": "D1:2", "speaker": "Bo", "text": "How lovely"},
        ],
    },
    "qa": [
        {"question": "What did Ann adopt?", "category": 4, "evidence": ["D1:1"]},
        {"question": "And then?", "category": 1, "evidence": ["D:1:2; D2:1", "D9:9"]},
        {"question": "Never said", "category": 5},
    ],
}


class Encoding:
    """Texts that share a first letter are alike."""

    def passages(self, texts: Sequence[str], what: str = "") -> Vector:
        rows = np.array([[text[:1] == "A", text[:1] == "B", 0.1] for text in texts], dtype=np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_dialogues_are_read_in_order_with_their_evidence() -> None:
    (dialogue,) = locomo.read([SAMPLE])
    assert [turn.id for turn in dialogue.turns] == ["D1:1", "D1:2", "D2:1"]
    assert dialogue.turns[0].text == "I adopted a turtle [shares a turtle]"
    assert dialogue.turns[0].created_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert dialogue.turns[0].words == 8
    assert [question.gold for question in dialogue.questions] == [{0}, {1, 2}, set()]


def test_a_dialogue_answers_with_places_best_first() -> None:
    (dialogue,) = locomo.read([SAMPLE])
    memory = locomo.DialogueMemory(dialogue, Encoding(), None)  # type: ignore[arg-type]
    vector = np.array([1, 0, 0], dtype=np.float32)
    places, plain = memory.recall("What did Ann adopt?", vector, RecallSettings())
    assert places[0] == 0
    assert set(places) == {0, 1, 2}
    assert plain == [0]
