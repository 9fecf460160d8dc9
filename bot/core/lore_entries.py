"""Entries of lorebooks: read from cards, lorebooks V3 and SillyTavern world files; written as V3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeGuard

from bot.core.lore_decorators import Rules, read_decorators

DEFAULT_DEPTH: Final = 4
DEFAULT_ORDER: Final = 100
LONGEST_TEXT: Final = 40_000
LARGEST_NUMBER: Final = 10**12
_WORLD_ONLY: Final = ("key", "keysecondary")


class Logic(StrEnum):
    """What the secondary keys must do besides a primary key being found."""

    AND_ANY = "and any"
    AND_ALL = "and all"
    NOT_ANY = "not any"
    NOT_ALL = "not all"


class Position(StrEnum):
    """Where an entry stands in the prompt."""

    BEFORE = "before"
    AFTER = "after"
    AT_DEPTH = "at depth"
    """Among the newest turns; Troupe shows it with the notes of the last message."""


_LOGICS: Final = (Logic.AND_ANY, Logic.NOT_ALL, Logic.NOT_ANY, Logic.AND_ALL)
"""By the numbers of world files."""
_POSITIONS: Final = {
    **dict.fromkeys((0, 5, "before_char", "before"), Position.BEFORE),
    **dict.fromkeys((1, 6, 7, "after_char", "after"), Position.AFTER),
    **dict.fromkeys((2, 3, 4, "at_depth", "at depth"), Position.AT_DEPTH),
}


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """One entry. Low `order` stands first; high `priority`, then high order, stays when room is short."""

    content: str
    keys: tuple[str, ...] = ()
    secondary: tuple[str, ...] = ()
    logic: Logic = Logic.AND_ANY
    name: str = ""
    enabled: bool = True
    constant: bool = False
    patterns: bool = False
    """All keys are regular expressions, also those without slashes."""
    whole_words: bool = False
    case_sensitive: bool = False
    scan_depth: int | None = None
    order: int = DEFAULT_ORDER
    priority: int = 0
    position: Position = Position.BEFORE
    depth: int = DEFAULT_DEPTH
    probability: float = 100.0
    """0 to 100."""
    only_from_turns: bool = False
    """Other entries cannot make it fire."""
    stays_alone: bool = False
    """It makes no other entry fire."""
    only_from_entries: bool = False
    """Only other entries can make it fire."""
    book: str = ""
    """Whose budget it shares."""
    book_budget: int | None = None
    """Tokens that all entries of its book may take together; None when only the whole budget counts."""
    rules: Rules = field(default_factory=Rules)
    ref: str = ""
    """How people name it, e.g. `12`, or `card 3` for the third of a card's own book."""

    @property
    def title(self) -> str:
        """Its name, else its first keys, else its beginning."""
        return self.name or ", ".join(self.keys[:3]) or self.content[:40]

    @property
    def standing(self) -> bool:
        """Whether it always fires, so that it may stand before the window and keep the prompt's beginning."""
        free = not (self.rules.conditional or self.only_from_entries)
        always = (self.constant or self.rules.activate) and not self.rules.never
        return (
            self.enabled
            and always
            and free
            and self.probability >= 100
            and self.position is not Position.AT_DEPTH
        )


@dataclass(frozen=True, slots=True)
class BookSettings:
    """What a lorebook says about all of its entries; None where it says nothing (a budget of 0 too)."""

    name: str = ""
    scan_depth: int | None = None
    budget: int | None = None
    recursive: bool | None = None


def read_entry(raw: Mapping[str, Any], ref: str = "", *, book: str = "") -> LoreEntry:
    """Return the entry that an object of any of the formats describes. What is odd in it counts as absent."""
    outer = raw.get("extensions")
    more: Mapping[str, Any] = outer if isinstance(outer, Mapping) else {}
    world = _is_world(raw)
    content = raw.get("content")
    rules, text = read_decorators(content if isinstance(content, str) else "")
    chance = _number(_first(raw, more, "probability"), 100.0)
    secondary = _texts(raw.get("keysecondary" if world else "secondary_keys"))
    selective = raw.get("selective", True) if world else raw.get("selective", bool(secondary))
    position = _POSITIONS.get(_hashable(more.get("position", raw.get("position"))), Position.BEFORE)
    return LoreEntry(
        content=text[:LONGEST_TEXT].strip(),
        keys=(*_texts(raw.get("key" if world else "keys")), *rules.more_keys),
        secondary=secondary if selective else (),
        logic=_logic(_first(raw, more, "selectiveLogic", "selective_logic")),
        name=_text(raw.get("name")) or _text(raw.get("comment")),
        enabled=not raw.get("disable", False) if world else raw.get("enabled", True) is not False,
        constant=raw.get("constant") is True,
        patterns=raw.get("use_regex") is True and not world,
        whole_words=_first(raw, more, "matchWholeWords", "match_whole_words") is True,
        case_sensitive=_first(raw, more, "caseSensitive", "case_sensitive") is True,
        scan_depth=rules.scan_depth or _whole(_first(raw, more, "scanDepth", "scan_depth")),
        order=int(_number(raw.get("order" if world else "insertion_order"), DEFAULT_ORDER)),
        priority=int(_number(raw.get("priority"), 0)),
        position=_POSITIONS.get(rules.position or "", Position.AT_DEPTH if rules.depth else position),
        depth=rules.depth or _whole(_first(raw, more, "depth")) or DEFAULT_DEPTH,
        probability=min(100.0, max(0.0, chance))
        if _first(raw, more, "useProbability") is not False
        else 100.0,
        only_from_turns=_first(raw, more, "excludeRecursion", "exclude_recursion") is True,
        stays_alone=_first(raw, more, "preventRecursion", "prevent_recursion") is True,
        only_from_entries=bool(_first(raw, more, "delayUntilRecursion", "delay_until_recursion")),
        book=book,
        book_budget=_whole(more.get("book_budget")) or None,
        rules=rules,
        ref=ref,
    )


def read_book(book: object) -> tuple[list[dict[str, Any]], BookSettings]:
    """Return the raw entries of a lorebook or world file, and what it says about all of them.

    Raises ValueError, with a sentence for the member, when there are none.
    """
    inner = book.get("data") if isinstance(book, Mapping) else None
    found = inner if isinstance(inner, Mapping) else book
    entries = found.get("entries") if isinstance(found, Mapping) else None
    if isinstance(entries, Mapping):
        entries = list(entries.values())
    kept = (
        [dict(entry) for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []
    )
    if not kept or not isinstance(found, Mapping):
        raise ValueError("This file holds no lore entries.")
    return kept, book_settings(found)


def book_settings(book: Mapping[str, Any]) -> BookSettings:
    """Return what a lorebook says about all of its entries."""
    recursive = book.get("recursive_scanning")
    return BookSettings(
        name=_text(book.get("name")),
        scan_depth=_whole(book.get("scan_depth")),
        budget=_whole(book.get("token_budget")) or None,
        recursive=recursive if isinstance(recursive, bool) else None,
    )


def v3_entry(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of any format in the words of V3; what V3 has no word for goes into extensions."""
    if not _is_world(raw):
        defaults = {
            "keys": [],
            "content": "",
            "extensions": {},
            "enabled": True,
            "insertion_order": DEFAULT_ORDER,
        }
        return {**defaults, "use_regex": False, **raw}
    entry = read_entry(raw)
    known = {"key", "keysecondary", "content", "disable", "order", "constant", "comment", "selective"}
    extensions = raw.get("extensions")
    return {
        "keys": list(_texts(raw.get("key"))),
        "secondary_keys": list(_texts(raw.get("keysecondary"))),
        "content": _text(raw.get("content")),
        "comment": _text(raw.get("comment")),
        "enabled": entry.enabled,
        "constant": entry.constant,
        "selective": raw.get("selective", True) is not False,
        "insertion_order": entry.order,
        "position": "after_char" if entry.position is Position.AFTER else "before_char",
        "use_regex": False,
        "extensions": {
            **(extensions if isinstance(extensions, Mapping) else {}),
            **{key: value for key, value in raw.items() if key not in known | {"extensions"}},
        },
    }


def v3_book(name: str, entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a stand-alone lorebook V3."""
    written = [v3_entry(entry) for entry in entries]
    return {"spec": "lorebook_v3", "data": {"name": name, "extensions": {}, "entries": written}}


def _is_world(raw: Mapping[str, Any]) -> bool:
    return "keys" not in raw and any(key in raw for key in _WORLD_ONLY)


def _first(raw: Mapping[str, Any], more: Mapping[str, Any], *names: str) -> Any:
    """Return the first of the names that says something, in the entry or in its extensions."""
    found = (place[name] for place in (raw, more) for name in names if place.get(name) is not None)
    return next(found, None)


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        return ()
    return tuple(item.strip() for item in value if isinstance(item, str) and item.strip())


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _number(value: object, default: float) -> float:
    return value if _counts(value) else default


def _whole(value: object) -> int | None:
    return max(0, int(value)) if _counts(value) else None


def _counts(value: object) -> TypeGuard[float]:
    """Whether it is a number that anybody could mean: files may hold infinities and a thousand digits."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST_NUMBER


def _hashable(value: object) -> Any:
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def _logic(value: object) -> Logic:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(_LOGICS):
        return _LOGICS[value]
    return Logic(value) if isinstance(value, str) and value in list(Logic) else Logic.AND_ANY
