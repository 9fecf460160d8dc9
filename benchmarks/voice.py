"""How often the guards of a persona's voice would be wrong about real people, and what they still notice.

Each speaker of the dialogues is taken for a persona: the first three turns are the samples, every three
turns in a row later on are replies, and whoever speaks between them is a member. Nobody's voice changes
there, so each alarm is a false one. Changes are then made by rule: sentences joined, actions added, marks
multiplied. `--lines` compares texts of several languages.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Final

from bot.core.repeats import ECHO, echo
from bot.core.voice import KINSHIP, REPLIES, drift, kinship

SAMPLES: Final = 3
SHORTEST: Final = 20
RECENT: Final = 6
_LINES: Final = 12
"""Lines of a file that make one text."""
_SAME: Final = "-"
"""Files whose names are equal up to here hold the same language."""


def run(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the shares of alarms among windows of three turns, of repeats, and of changes noticed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks voice", description=__doc__)
    parser.add_argument("dialogues", type=Path, help="dialogues in LoCoMo's form")
    parser.add_argument(
        "--lines", type=Path, nargs="*", default=[], help="texts, one a line, a file a language"
    )
    chosen = parser.parse_args(arguments)
    speakers = list(_speakers(json.loads(chosen.dialogues.read_text("utf-8"))))
    return {
        "speakers": len(speakers),
        "windows": sum(len(list(_windows(own))) for _, own, _ in speakers),
        "false_alarms": _alarms(speakers, lambda text: text),
        "noticed": {name: _alarms(speakers, change)["any"] for name, change in _CHANGES.items()},
        "false_repeats": _repeats(speakers),
        "kinship": _kinship({path.stem: _texts(path) for path in chosen.lines}) if chosen.lines else {},
    }


Turns = list[tuple[int, str]]
Speaker = tuple[str, Turns, Turns]
"""A name, own turns and the other's, each with its number in the dialogue."""


def _speakers(dialogues: Sequence[Mapping[str, Any]]) -> Iterator[Speaker]:
    for dialogue in dialogues:
        talk = dialogue["conversation"]
        sessions = sorted(
            (key for key in talk if re.fullmatch(r"session_\d+", key)), key=lambda k: int(k[8:])
        )
        turns = list(enumerate(turn for key in sessions for turn in talk[key] if turn["text"].strip()))
        for name in (talk["speaker_a"], talk["speaker_b"]):
            own = [(at, turn["text"]) for at, turn in turns if turn["speaker"] == name]
            yield name, own, [(at, turn["text"]) for at, turn in turns if turn["speaker"] != name]


def _windows(own: Turns) -> Iterator[tuple[list[str], Turns]]:
    samples = [text for _, text in own if len(text) >= SHORTEST][:SAMPLES]
    for at in range(SAMPLES, len(own) - REPLIES + 1):
        yield samples, own[at : at + REPLIES]


def _alarms(speakers: Sequence[Speaker], change: Callable[[str], str]) -> dict[str, float]:
    found: Counter[str] = Counter()
    windows = 0
    for name, own, others in speakers:
        for samples, replies in _windows(own):
            near = [text for at, text in others if replies[0][0] - 4 <= at <= replies[-1][0] + 1]
            ways = drift([change(text) for _, text in replies], samples, names=[name], others=near)
            windows += 1
            found.update({"any": bool(ways), **{way.name.lower(): 1 for way in ways}})
    return {key: number / windows for key, number in sorted(found.items())}


_CHANGES: Final[Mapping[str, Callable[[str], str]]] = {
    "sentences joined": lambda text: re.sub(r"[.!?]+\s*", ", ", text) + ". ",
    "sentences of three words": lambda text: ". ".join(
        " ".join(words[at : at + 3]) for words in [text.split()] for at in range(0, len(words), 3)
    ),
    "half of it actions": lambda text: f"{text} *{text[: len(text)].replace('*', '').strip()}*",
    "shouted": lambda text: re.sub(r"[.!?]+", "!!!", text) + "!!!",
    "trailing off": lambda text: re.sub(r"[.!?,]+", "...", text) + "...",
}


def _repeats(speakers: Sequence[Speaker]) -> dict[str, float]:
    shares = [
        echo(text, [earlier for _, earlier in own[max(0, at - RECENT) : at]])
        for _, own, _ in speakers
        for at, (_, text) in enumerate(own)
    ]
    return {
        "turns": len(shares),
        "share": sum(share >= ECHO for share in shares) / len(shares),
        "largest share": max(shares),
    }


def _texts(path: Path) -> list[str]:
    lines = [line.split("\t")[0] for line in path.read_text("utf-8").splitlines() if line.strip()]
    return ["\n".join(lines[at : at + _LINES]) for at in range(0, min(len(lines), 1200), _LINES)]


def _kinship(languages: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """How alike neighbouring texts of one language are, and texts of two languages."""
    within = [
        found
        for texts in languages.values()
        for one, two in pairwise(texts)
        if (found := kinship([one], [two])) is not None
    ]
    between = [
        found
        for (a, first), (b, second) in combinations(languages.items(), 2)
        if a.split(_SAME)[0] != b.split(_SAME)[0]
        for one, two in zip(first, second, strict=False)
        if (found := kinship([one], [two])) is not None
    ]
    within.sort()
    between.sort()
    return {
        "pairs within": len(within),
        "within, lowest": within[0],
        "within, lowest 1%": within[len(within) // 100],
        "pairs between": len(between),
        "between, median": between[len(between) // 2],
        "between, taken for another language": sum(one < KINSHIP for one in between) / len(between),
    }
