"""The benchmark of the voice guards, on a small invented dialogue."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks import voice

LINES = (
    "I have been down at the river all day, and the water is higher than it was.",
    "You should have seen the ferry, it nearly took the old pier with it.",
    "My sister says we ought to move the boats before the next rain comes.",
    "Maybe she is right, but I am tired and the stove is warm.",
    "Let us look at the ropes tomorrow, and ask the miller for his cart.",
    "He still owes me for the sacks, so he can hardly say no to that.",
)


def test_steady_speakers_raise_no_alarm_and_made_up_changes_do(tmp_path: Path) -> None:
    talk = [
        {"speaker": ("Ann", "Ben")[at % 2], "dia_id": f"D1:{at}", "text": LINES[at // 2 % len(LINES)]}
        for at in range(24)
    ]
    dialogue = {"conversation": {"speaker_a": "Ann", "speaker_b": "Ben", "session_1": talk}}
    (tmp_path / "talk.json").write_text(json.dumps([dialogue]))
    for name, line in (("one", "Where is the boat?\t1"), ("two", "Wo ist denn das Boot?\t1")):
        (tmp_path / f"{name}.tsv").write_text("\n".join([line] * 48))
    lines = [str(tmp_path / "one.tsv"), str(tmp_path / "two.tsv")]
    figures = voice.run([str(tmp_path / "talk.json"), "--lines", *lines])
    assert (figures["speakers"], figures["windows"]) == (2, 14)
    assert figures["false_alarms"] == {"any": 0.0}
    assert figures["noticed"]["shouted"] == 1.0
    assert figures["noticed"]["half of it actions"] == 1.0
    assert figures["false_repeats"]["share"] > 0, "the invented dialogue repeats its lines word for word"
    assert figures["kinship"]["within, lowest"] > figures["kinship"]["between, median"]
