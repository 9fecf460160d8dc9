"""Shows the newest turns to a model: speaker tags that nobody can forge, trimmed in quarters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bot.core.chat import ChatMessage, Role
from bot.core.fences import quoted
from bot.core.names import fold, label_text
from bot.core.types import NOBODY, Persona, Turn, TurnDraft, TurnKind

KEPT_TURNS: Final = 12
"""So many of the newest turns stay in the window as long as they fit."""
CUT_NOTE: Final = " … [cut here, the rest is stored]"
_DENSE: Final = 3
_INDENT: Final = "\n  "
_MARKS: Final[Mapping[TurnKind, str]] = {
    TurnKind.IN_CHARACTER: "",
    TurnKind.NARRATION: " [narrates]",
    TurnKind.OUT_OF_CHARACTER: " [out of character]",
}
Count = Callable[[str], int]
"""Estimates the tokens of a text."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who said something, as the name was shown then."""

    owner_id: int
    name: str
    persona_id: int | None = None


def speaker_of(turn: TurnDraft) -> Speaker:
    """Return who spoke the turn."""
    return Speaker(turn.owner_id, turn.speaker, turn.persona_id)


_Key = tuple[int, int, str]


def _key(speaker: Speaker) -> _Key:
    if speaker.persona_id is not None:
        return (NOBODY, speaker.persona_id, "")
    return (speaker.owner_id, 0, fold(speaker.name))


@dataclass(frozen=True, slots=True)
class Roster:
    """The speaker tags of a scene. Two speakers with equal names have different tags."""

    labels: Mapping[_Key, str]

    @classmethod
    def of(cls, cast: Sequence[Persona], speakers: Iterable[Speaker]) -> Roster:
        """Give every speaker a tag: the cast first, then members in the order they first spoke in the scene.

        Equal names (case and width folded) get " (2)", " (3)" …, bound to the owner's id: the tags stay the
        same as long as earlier speakers come in the same order. A persona goes by its present name.
        """
        labels: dict[_Key, str] = {}
        for persona in cast:
            _add(labels, Speaker(NOBODY, persona.name, persona.id))
        for speaker in speakers:
            _add(labels, speaker)
        return cls(labels)

    def joined(self, turns: Iterable[TurnDraft]) -> Roster:
        """Return the roster with the turns' unknown speakers added at its end."""
        labels = dict(self.labels)
        for turn in turns:
            _add(labels, speaker_of(turn))
        return Roster(labels)

    def label(self, turn: TurnDraft) -> str:
        """Return the tag of the turn's speaker, whether known before or not."""
        key = _key(speaker_of(turn))
        return self.labels.get(key) or self.joined([turn]).labels[key]

    def label_of(self, speaker: Speaker) -> str:
        """Return the tag of a speaker; the plain name when there is none."""
        return self.labels.get(_key(speaker)) or label_text(speaker.name)

    @property
    def members(self) -> tuple[str, ...]:
        """The tags of those who are no personas, in order."""
        return tuple(label for key, label in self.labels.items() if key[1] == 0)


def _add(labels: dict[_Key, str], speaker: Speaker) -> None:
    key = _key(speaker)
    if key in labels:
        return
    taken = {fold(label) for label in labels.values()}
    plain = label_text(speaker.name)
    label, number = plain, 1
    while fold(label) in taken:
        number += 1
        label = f"{plain} ({number})"
    labels[key] = label


def render(turn: TurnDraft, label: str, *, longest: int | None = None) -> str:
    """Return the turn as `Label: text`, with a mark of its kind and every further line indented.

    `longest` cuts the shown text to that many characters and says so.
    """
    return f"{label}{_MARKS[turn.kind]}: {_INDENT.join(_lines(shown(turn.text, longest)))}"


def shown(text: str, longest: int | None) -> str:
    """Return what a prompt shows of a text: quoted safely, cut at a word with a note when too long.

    Characters of dense scripts (Chinese, Thai …), of about a token each, count three times.
    """
    safe = quoted(text).strip()
    if longest is None or len(safe) * _DENSE <= longest:
        return safe
    weight = 0
    for index, character in enumerate(safe):
        weight += _DENSE if character > "\u0dff" and character.isalnum() else 1
        if weight > longest:
            head = safe[:index]
            space = head.rfind(" ", index * 2 // 3)
            return (head[:space] if space > 0 else head).rstrip() + CUT_NOTE
    return safe


def _lines(text: str) -> list[str]:
    """Split at everything that could look like a line break to a model, blank lines left out."""
    return [line.rstrip() for line in text.splitlines() if line.strip()] or [""]


@dataclass(frozen=True, slots=True)
class Fitted:
    """The turns a window shows, and the id of the first: the next window starts there again."""

    start_id: int
    turns: tuple[Turn, ...]


def longest_shown(budget: int) -> int:
    """Return how many characters of one turn a window of `budget` tokens shows (a sixth of it)."""
    return max(240, budget * 4 // 6)


def fit(
    turns: Sequence[Turn],
    *,
    budget: int,
    start_id: int,
    count: Count,
    roster: Roster,
    keep_last: int = KEPT_TURNS,
    longest: int | None = None,
) -> Fitted:
    """Return the turns from `start_id` on when they fit `budget` tokens; else three quarters' worth.

    `turns` come oldest first; `start_id` is that of the last window, 0 when there was none. Trimming a
    quarter at a time keeps the beginning of the prompt the same for many replies. The newest `keep_last`
    turns stay as long as they fit by themselves. `longest` cuts each turn as `render` does (a sixth of the
    budget when not given).
    """
    longest = longest_shown(budget) if longest is None else longest
    window = [turn for turn in turns if turn.id >= start_id]
    costs = [count(render(turn, roster.label(turn), longest=longest)) + 1 for turn in window]
    if sum(costs) > budget:
        first = _newest_within(costs, budget - budget // 4)
        kept = max(_newest_within(costs, budget), len(costs) - keep_last)
        window = window[min(first, kept) :]
    return Fitted(window[0].id if window else start_id, tuple(window))


def _newest_within(costs: Sequence[int], budget: int) -> int:
    """Return the index from which on the costs sum up to at most `budget`."""
    total = 0
    for index in range(len(costs) - 1, -1, -1):
        total += costs[index]
        if total > budget:
            return index + 1
    return 0


def messages(
    turns: Iterable[TurnDraft], *, roster: Roster, persona_id: int, longest: int | None = None
) -> list[ChatMessage]:
    """Return the turns as chat messages: the persona's own as assistant, without a tag; all others as user.

    Neighbours of the same role are joined, so that user and assistant alternate.
    """
    result: list[ChatMessage] = []
    for turn in turns:
        own = turn.persona_id == persona_id
        role: Role = "assistant" if own else "user"
        text = shown(turn.text, longest) if own else render(turn, roster.label(turn), longest=longest)
        if result and result[-1].role == role:
            joint = "\n\n" if own else "\n"
            result[-1] = ChatMessage(role, f"{result[-1].content}{joint}{text}")
        else:
            result.append(ChatMessage(role, text))
    return result
