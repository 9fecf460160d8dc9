"""Builds the prompts of background calls: bringing the notes up to date, and scoring feelings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.core.chat import ChatMessage
from bot.core.emotion import EMOTIONS
from bot.core.names import with_former
from bot.core.scratchpad import numbered, one_line
from bot.core.templates import Prompts
from bot.core.types import Line, Persona, Scene, Turn
from bot.core.window import Count, Roster, render

PROMPT_SHARE: Final = 0.5
"""A background prompt takes at most this share of the context."""
MOST_TURNS: Final = 20
_ANSWER_SHARE: Final = 0.4
_KNOWN_SHARE: Final = 0.1
_LEAST_ANSWER: Final = 200
_PER_TURN: Final = 70
_ANSWER_FRAME: Final = 300
_LONGEST: Final = 6000
_SHORTEST: Final = 200


@dataclass(frozen=True, slots=True)
class MemoryPrompt:
    """The messages, the turns they show (numbered from 1 in this order), and room for the answer."""

    messages: tuple[ChatMessage, ...]
    turns: tuple[Turn, ...]
    max_tokens: int
    known: int = 0
    """How many of the known facts it shows, from the first."""


def background_prompt(
    turns: Sequence[Turn],
    *,
    scene: Scene,
    lines: Sequence[Line],
    known: Sequence[str] = (),
    cast: Sequence[Persona] = (),
    roster: Roster,
    prompts: Prompts,
    context_tokens: int,
    count: Count,
) -> MemoryPrompt:
    """Return the prompt that brings the notes `lines` up to date with as many of `turns` as fit.

    `turns` are the oldest uncovered ones, oldest first. At least one is shown, cut if it must be. `known` are
    facts that the turns may make untrue, the likeliest first; as many as fit are shown, numbered from 1.
    """
    system = prompts.fill("memory_system")
    facts = _numbered_facts(known, int(context_tokens * _KNOWN_SHARE), count)
    values = {
        "notes": numbered(lines),
        "known": "\n".join(facts),
        "scene": _scene(scene, cast),
        "emotions": ", ".join(EMOTIONS),
    }
    room = int(context_tokens * PROMPT_SHARE) - count(system)
    room -= count(prompts.fill("memory_task", turns="", **values))
    shown, text = _numbered_turns(turns, roster, room, count)
    return MemoryPrompt(
        (
            ChatMessage("system", system),
            ChatMessage("user", prompts.fill("memory_task", turns=text, **values)),
        ),
        shown,
        _answer_room(_ANSWER_FRAME + count(values["notes"]) // 2 + _PER_TURN * len(shown), context_tokens),
        known=len(facts),
    )


def emotion_prompt(
    turns: Sequence[Turn], *, roster: Roster, prompts: Prompts, context_tokens: int, count: Count
) -> MemoryPrompt:
    """Return the prompt that asks for a reason and eight scores for each of as many of `turns` as fit."""
    system = prompts.fill("emotion_system")
    names = ", ".join(EMOTIONS)
    room = int(context_tokens * PROMPT_SHARE) - count(system)
    room -= count(prompts.fill("emotion_task", turns="", emotions=names))
    shown, text = _numbered_turns(turns, roster, room, count)
    task = prompts.fill("emotion_task", turns=text, emotions=names)
    return MemoryPrompt(
        (ChatMessage("system", system), ChatMessage("user", task)),
        shown,
        _answer_room(60 + _PER_TURN * len(shown), context_tokens),
    )


def _numbered_facts(known: Sequence[str], room: int, count: Count) -> list[str]:
    lines = [f"{number}: {one_line(text)}" for number, text in enumerate(known, 1)]
    while lines and count("\n".join(lines)) > room:
        lines.pop()
    return lines


def _numbered_turns(
    turns: Sequence[Turn], roster: Roster, room: int, count: Count
) -> tuple[tuple[Turn, ...], str]:
    """Return the first turns that fit, and their text: `[2] Alice: …`, further lines indented."""
    roster = roster.joined(turns)
    living = [turn for turn in turns if turn.text.strip()][:MOST_TURNS]
    lines: list[str] = []
    left = room
    for number, turn in enumerate(living, 1):
        line = _turn_line(number, turn, roster, _LONGEST)
        longest = _LONGEST
        while not lines and count(line) > left and longest > _SHORTEST:
            longest = max(_SHORTEST, longest * 3 // 4)
            line = _turn_line(number, turn, roster, longest)
        left -= count(line) + 1
        if lines and left < 0:
            break
        lines.append(line)
    return tuple(living[: len(lines)]), "\n".join(lines)


def _turn_line(number: int, turn: Turn, roster: Roster, longest: int) -> str:
    return f"[{number}] {render(turn, roster.label(turn), longest=longest)}"


def _scene(scene: Scene, cast: Sequence[Persona]) -> str:
    """What the scene is called and where; and whose name in older notes is another now."""
    told = [scene.name, scene.location, scene.situation, scene.story_time]
    told += [with_former(persona) for persona in cast if persona.former_names]
    return "; ".join(one_line(part) for part in told if part.strip())


def _answer_room(wanted: int, context_tokens: int) -> int:
    return max(_LEAST_ANSWER, min(wanted, int(context_tokens * _ANSWER_SHARE)))
