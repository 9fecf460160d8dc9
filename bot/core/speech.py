"""Makes a model's answer fit to be said: only the persona's own words, whole, and harmless in Discord."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from bot.core.endings import close_open, to_last_sentence
from bot.core.fences import BLOCKS, without_blocks
from bot.core.macros import OTHERS
from bot.core.names import called, calling_name, fold
from bot.core.refusals import is_refusal
from bot.core.repeats import LOOP_SEEN, goes_round, is_repeat, shorten_loops
from bot.core.speaker_tags import tag_length
from bot.core.template_marks import turn_in
from bot.core.types import Persona
from bot.core.window import CUT_NOTE

__all__ = ["StopWatcher", "Voices", "clean", "for_discord", "is_refusal", "is_repeat", "voices"]

_OWN_WORDS: Final = ("assistant", "char", "bot")
_OTHERS_WORDS: Final = ("user", "human", "you", OTHERS)
_NOT_SAID = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_LEAKED = re.compile(rf"<(?:{'|'.join(BLOCKS)})>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Voices:
    """Folded names: those the persona goes by, and those of everybody else it must not speak for."""

    own: frozenset[str]
    others: frozenset[str]


def voices(persona: Persona, cast: Iterable[Persona], member_names: Iterable[str]) -> Voices:
    """Return the voices of a scene. `member_names` are the members' tags and names, aliases included.

    A full name wins over somebody's calling name, and the persona's own over a member's equal one.
    """
    own = {fold(name) for name in (persona.name, persona.text("nickname"), *persona.former_names)}
    names = list(member_names)
    for other in cast:
        if other.id != persona.id:
            names += [other.name, other.text("nickname"), *other.former_names]
    others = {fold(name) for name in names} - own
    own |= {fold(name) for name in called(persona)} - others
    short = [calling for name in names if (calling := calling_name(name))]
    others |= {fold(name) for name in (*short, *_OTHERS_WORDS)} - own
    own |= {word for word in _OWN_WORDS if word not in others}
    return Voices(frozenset(own - {""}), frozenset(others - {""}))


def clean(text: str, voices: Voices, *, truncated: bool = False, notes: str = "") -> str:
    """Return what the persona says: no name before it, nobody else's lines, no copied notes, marks closed,
    nothing beyond the end of its turn.

    `truncated` says that the token limit ended the text; it then goes back to the last full sentence.
    `notes` are the lines of the prompt that nobody said; a line that is one of them is left out.
    Empty when nothing is left to say.
    """
    text = _NOT_SAID.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace(CUT_NOTE.strip(), "…"))
    text, ended = turn_in(text)
    own, stopped = _own_words(without_blocks(text).strip(), voices)
    spoken = shorten_loops(_without_copies(own, notes).strip())
    if truncated and not (stopped or ended):
        spoken = to_last_sentence(spoken)
    spoken = close_open(spoken) if spoken else ""
    return spoken if re.sub(r"[\s*_~|`>#-]", "", spoken) else ""


class StopWatcher:
    """Watches a reply as it is written. Give `feed` to the model as `on_text`."""

    def __init__(self, voices: Voices) -> None:
        self._voices = voices
        self._text = ""
        self._line = ""

    def feed(self, delta: str) -> bool:
        """Return False when writing on is useless: it speaks for others, copies notes, loops, has ended."""
        *lines, last = (self._line + delta).split("\n")
        self._line = last
        self._text = (self._text + delta)[-LOOP_SEEN:]
        if any(_for_others(line, self._voices, whole_line=True) for line in lines):
            return False
        if _for_others(last, self._voices, whole_line=False) or _LEAKED.search(self._text):
            return False
        said, ended = turn_in(self._text)
        return not (ended and said.strip()) and not goes_round(self._text)


def for_discord(
    text: str,
    *,
    known_users: Collection[int] = (),
    known_channels: Collection[int] = (),
    known_emoji: Collection[int] = (),
) -> str:
    """Return the text as it is sent: crowds and roles shown but not called, ids that nobody knows left out.

    Unknown emoji stay as :words:. Never blank for a text that is not.
    """
    text = re.sub(r"@(everyone|here)", "@\u200b\\1", text, flags=re.IGNORECASE)
    text = re.sub(r"<@&(\d+)>", "<@\u200b&\\1>", text)
    text = _known(text, r" ?<@!?(\d{1,20})>", known_users, "")
    text = _known(text, r" ?<#(\d{1,20})>", known_channels, "")
    text = _known(text, r"<a?(:\w{1,64}:)(\d{1,20})>", known_emoji, r"\1")
    return text if text.strip() else "…"


def _own_words(text: str, voices: Voices) -> tuple[str, bool]:
    """Return the lines up to the first of somebody else's, without own tags; and whether one came."""
    said: list[str] = []
    for line in text.split("\n"):
        if _for_others(line, voices, whole_line=True):
            return "\n".join(said), True
        said.append(_without_own(line, voices))
    return "\n".join(said), False


def _without_copies(text: str, notes: str) -> str:
    copied = {line.strip() for line in notes.split("\n") if line.strip()}
    return "\n".join(line for line in text.split("\n") if line.strip() not in copied)


def _without_own(line: str, voices: Voices) -> str:
    while line and (length := tag_length(line, voices.own)):
        line = line[length:]
    return line


def _for_others(line: str, voices: Voices, *, whole_line: bool) -> bool:
    """A member called "Mira (2)" is not Mira, so the line counts as it is and without own tags."""
    return any(
        tag_length(one, voices.others, whole_line=whole_line) is not None
        for one in (line, _without_own(line, voices))
    )


def _known(text: str, pattern: str, known: Collection[int], instead: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        return found[0] if int(found[found.re.groups]) in known else found.expand(instead)

    return re.sub(pattern, replaced, text)
