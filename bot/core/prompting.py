"""Builds the prompt of a reply: one system message, the window, and one last message that is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from bot.core import scratchpad as notes_of
from bot.core.budgets import Budgets, cut_to
from bot.core.cards import greetings
from bot.core.character import trait_lines
from bot.core.chat import ChatMessage
from bot.core.date_words import date_words
from bot.core.dates import dated, earlier
from bot.core.fences import quoted
from bot.core.languages import OTHER, UNKNOWN
from bot.core.macros import Macros, expand
from bot.core.names import label_text, with_former
from bot.core.persona_text import PersonaText, persona_text
from bot.core.prompt_parts import CALM, Note, Prompt, ReplyScene
from bot.core.scratchpad import one_line
from bot.core.templates import Prompts
from bot.core.types import MemoryKind, Persona, Scene
from bot.core.window import Count, Fitted, Speaker, fit, longest_shown, messages, render, shown

LONGEST_NOTE: Final = 600
"""Characters of a recalled memory that a prompt shows."""
_LONGEST_ANSWERED: Final = 4000
_SHORTEST_ANSWERED: Final = 160
_MOST_PRESENT: Final = 16
_NOT_HINTED: Final = frozenset({UNKNOWN, OTHER, "en"})
"""Where the English of the notes cannot draw a persona out of its language, or nobody knows."""


def reply_prompt(given: ReplyScene, *, prompts: Prompts, budgets: Budgets, count: Count) -> Prompt:
    """Return the prompt of one reply, within `budgets.room` tokens by `count`.

    What stands before the last message stays the same from one reply to the next, until the persona, the
    scene or the scratchpad changes or the window drops a quarter.
    """
    given = replace(given, roster=given.roster.joined([*given.history, *given.answering]))
    system = _system(given, prompts, budgets, count)
    window = _window(given, count(system.text), budgets, count)
    longest = longest_shown(budgets.context // 2)
    chat = messages(window.turns, roster=given.roster, persona_id=given.persona.id, longest=longest)
    before = chat.pop().content if chat and chat[-1].role == "user" else ""
    taken = count(system.text) + sum(count(message.content) for message in chat) + count(before)
    last = _last(given, prompts, budgets, count, room=budgets.room - taken)
    content = last.filled(prompts, before)
    everything = (ChatMessage("system", system.text), *chat, ChatMessage("user", content))
    parts = {
        **system.parts,
        "window": sum(count(message.content) for message in chat) + count(before),
        **last.parts,
    }
    return Prompt(everything, MappingProxyType(parts), (*system.left_out, *last.left_out), window.start_id)


def window_turns(given: ReplyScene, *, prompts: Prompts, budgets: Budgets, count: Count) -> Fitted:
    """Return the turns of `history` that the prompt shows in its window: recall need not find those.

    The notes of `given` make no difference.
    """
    given = replace(given, roster=given.roster.joined([*given.history, *given.answering]))
    return _window(given, count(_system(given, prompts, budgets, count).text), budgets, count)


def greeting(
    persona: Persona, scene: Scene, *, members: Sequence[str], now: datetime, number: int = 0
) -> str:
    """Return the persona's greeting of that number (`bot.core.cards.greetings`, counted from 0, beginning
    again after the last) with its macros filled; empty when its card has none."""
    texts = greetings(persona.card, group=len(scene.cast) > 1)
    if not texts:
        return ""
    macros = Macros.of(persona, scene=scene, members=members, now=now)
    return expand(texts[number % len(texts)], macros).strip()


# ---------------------------------------------------------------- before the window
@dataclass(frozen=True, slots=True)
class _System:
    text: str
    parts: Mapping[str, int]
    left_out: tuple[str, ...]


def _system(given: ReplyScene, prompts: Prompts, budgets: Budgets, count: Count) -> _System:
    scene = given.scene
    macros = Macros.of(given.persona, scene=scene, members=given.roster.members, now=given.now)
    wishes = _standing(given, budgets, count)
    notes = notes_of.render(given.scratchpad.lines, budget=budgets.scratchpad, count=count)
    values = {
        "scene": one_line(scene.name),
        "location": one_line(scene.location),
        "situation": one_line(scene.situation),
        "time": one_line(scene.story_time),
        "name": label_text(given.persona.name),
        "former": ", ".join(map(label_text, given.persona.former_names)),
    }
    lore = {"lore_before": _world(given.lore.before), "lore_after": _world(given.lore.after)}
    lore |= (lives_by := trait_lines(given.persona, macros, budget=budgets.character, count=count))
    intro = prompts.fill("reply_intro", name=values["name"])
    empty = dict.fromkeys(("description", "personality", "scenario", "samples", "standing", "scratchpad"), "")
    frame = count(prompts.fill("reply_system", **{**values, **empty, **lore, "intro": intro}))
    room = budgets.system - budgets.scratchpad - budgets.standing - frame
    text = persona_text(given.persona, given.samples, macros.with_original(intro), room=room, count=count)
    filled = {**values, **lore, **_persona_values(text, intro), "standing": wishes, "scratchpad": notes}
    whole = prompts.fill("reply_system", **filled)
    own = text.tokens(count) + sum(map(count, lives_by.values()))
    parts = {"card": own, "standing": count(wishes), "scratchpad": count(notes)}
    parts["system"] = max(0, count(whole) - sum(parts.values()))
    return _System(whole, parts, text.left_out)


def _persona_values(text: PersonaText, intro: str) -> dict[str, str]:
    return {
        "intro": text.system_prompt or intro,
        "description": text.description,
        "personality": text.personality,
        "scenario": text.scenario,
        "samples": "\n---\n".join(text.samples),
    }


def _world(texts: Sequence[str]) -> str:
    return "\n".join("\n".join(_safe_lines(text)) for text in texts)


def _indented(text: str) -> str:
    return "\n  ".join(_safe_lines(text))


def _safe_lines(text: str) -> list[str]:
    """Return the lines of a moderator's text that stays inside its block, blank ones left out."""
    return [line.rstrip() for line in quoted(text).splitlines() if line.strip()]


def _standing(given: ReplyScene, budgets: Budgets, count: Count) -> str:
    """Return standing instructions and what is pinned: as many as fit, pins and newer ones first."""
    lines = [*map(one_line, given.standing), *notes_of.standing(given.scratchpad.lines)]
    lines += map(one_line, given.pinned)
    kept = [f"- {line}" for line in reversed(dict.fromkeys(reversed(lines))) if line]
    while kept and count("\n".join(kept)) > budgets.standing:
        kept.pop(0)
    return "\n".join(kept)


def _window(given: ReplyScene, system: int, budgets: Budgets, count: Count) -> Fitted:
    """Fit the history into what system and last message leave, whatever the latter holds this time."""
    answering = {turn.id for turn in given.answering}
    turns = [turn for turn in given.history if turn.id not in answering and turn.text.strip()]
    longest = longest_shown(budgets.context // 2)
    asked = count(_turns(given, _LONGEST_ANSWERED))
    last = budgets.recall + max(budgets.last, min(asked, budgets.room // 4) + budgets.last // 2)
    last += given.lore.room
    return fit(
        turns,
        budget=max(0, budgets.room - system - last),
        start_id=given.start_id,
        count=count,
        roster=given.roster,
        longest=longest,
    )


# ---------------------------------------------------------------- after the window
@dataclass(frozen=True, slots=True)
class _Last:
    values: Mapping[str, str]
    parts: Mapping[str, int]
    left_out: tuple[str, ...]

    def filled(self, prompts: Prompts, before: str) -> str:
        return prompts.fill("reply_last", before=before, **self.values)


def _last(given: ReplyScene, prompts: Prompts, budgets: Budgets, count: Count, *, room: int) -> _Last:
    values = _notes(given, prompts, budgets, count)
    frame = count(prompts.fill("reply_last", before="", memories="", turns="", **values))
    frame += (
        count(prompts.fill("notes.memories", name=given.persona.name, memories="-")) if given.notes else 0
    )
    asked = _asked(given, count, max((room - frame) // 2, room - frame - budgets.recall))
    kept = _fitting(given, min(budgets.recall, room - frame - count(asked)), count)
    memories = "\n".join(_note_line(note, given) for note in sorted(kept, key=lambda note: note.when))
    parts = {"notes": frame, "recalled": count(memories), "turns": count(asked)}
    missing = len(given.notes) - len(kept)
    left_out = (f"{missing} of {len(given.notes)} memories",) if missing else ()
    if memories:
        memories = prompts.fill("notes.memories", name=label_text(given.persona.name), memories=memories)
    return _Last({**values, "memories": memories, "turns": asked}, parts, left_out)


def _notes(given: ReplyScene, prompts: Prompts, budgets: Budgets, count: Count) -> dict[str, str]:
    """Return what the persona knows besides memories; nothing of what is plain from the turns."""
    name = label_text(given.persona.name)
    macros = Macros.of(given.persona, scene=given.scene, members=given.roster.members, now=given.now)
    after = expand(given.persona.text("post_history_instructions"), macros).strip()
    mood, relations = one_line(given.mood), one_line(given.relations)
    present = _present(given)
    hints = [one_line(hint) for hint in (*given.hints, cut_to(after, budgets.last, count))]
    if given.language not in _NOT_HINTED:
        hints.append(prompts.fill("hints.language"))
    lore = "\n".join(f"- {_indented(text)}" for text in given.lore.fired)
    return {
        "lore": prompts.fill("notes.lore", lore=lore) if lore else "",
        "aside": prompts.fill("notes.aside", name=name, aside=_note_line(given.aside, given))
        if given.aside
        else "",
        "mood": prompts.fill("notes.mood", name=name, mood=mood) if mood and mood != CALM else "",
        "relations": prompts.fill("notes.relations", name=name, relations=relations) if relations else "",
        "present": prompts.fill("notes.present", names=", ".join(present)) if len(present) > 2 else "",
        "hints": "\n".join(hint for hint in hints if hint),
    }


def _present(given: ReplyScene) -> list[str]:
    """Return the names of the cast and of the members who spoke in the turns at hand, the latest if many."""
    spoke = {given.roster.label(turn): turn.id for turn in (*given.history, *given.answering)}
    latest = sorted((name for name in given.roster.members if name in spoke), key=lambda name: spoke[name])
    kept = set(latest[-_MOST_PRESENT:])
    own = given.persona  # its card tells its own former names
    personas = [label_text(one.name) if one.id == own.id else with_former(one) for one in given.cast]
    return [*personas, *(name for name in given.roster.members if name in kept)]


def _turns(given: ReplyScene, longest: int) -> str:
    return "\n".join(render(turn, given.roster.label(turn), longest=longest) for turn in given.answering)


def _asked(given: ReplyScene, count: Count, room: int) -> str:
    """Return the turns to answer: always there, shown cut when they would not fit."""
    longest = _LONGEST_ANSWERED
    text = _turns(given, longest)
    while count(text) > room and longest > _SHORTEST_ANSWERED:
        longest = max(_SHORTEST_ANSWERED, longest * 3 // 4)
        text = _turns(given, longest)
    return text


def _fitting(given: ReplyScene, room: int, count: Count) -> list[Note]:
    kept: list[Note] = []
    left = room
    for note in given.notes:
        cost = count(_note_line(note, given)) + 1
        if cost <= left:
            left -= cost
            kept.append(note)
    return kept


def _note_line(note: Note, given: ReplyScene) -> str:
    words = date_words(given.language)
    part = "in part " if note.partly else ""
    tag = f"[{part}{earlier(note.until, given.now, given.language)}] " if note.earlier else ""
    when = dated(note.when, given.now, one_line(note.story_time), given.language)
    if note.kind is MemoryKind.CANON:  # when a past was typed in says nothing
        when = one_line(note.story_time) or words.long_ago
    name = given.roster.label_of(Speaker(note.owner_id, note.speaker))
    if note.kind is not MemoryKind.TURN:
        said = words.thought_of if note.kind is MemoryKind.REFLECTION else words.said_by
        name = said.format(name)
    speaker = f", {name}" if note.speaker else ""
    return f"- {tag}{when}{speaker}: {shown(' '.join(note.text.split()), LONGEST_NOTE)}"
