"""Decides which lore entries fire for the newest turns, in what order they stand, and what had no room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from bot.core.lore_entries import DEFAULT_DEPTH, LoreEntry, Position
from bot.core.lore_keys import Haystack, Search, find, no_patterns
from bot.core.names import fold
from bot.core.window import Count

MOST_STEPS: Final = 5
"""How often fired entries may make further ones fire."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a decision depends on. `texts` are the newest turns, oldest first."""

    texts: Sequence[str]
    budget: int
    """Tokens, by `count`, that all entries together may take."""
    count: Count
    turns: int = 0
    """How many turns the scene has by now."""
    draw: Callable[[LoreEntry], float] = lambda entry: 0.0
    """A number from 0 to below 100 for each entry: it fires when that is below its probability."""
    fill: Callable[[str], str] = lambda text: text
    """Fills macros in keys and texts."""
    search: Search = no_patterns
    depth: int = DEFAULT_DEPTH
    """How many turns an entry looks at that says nothing about it."""
    recursive: bool = True
    steps: int = MOST_STEPS


@dataclass(frozen=True, slots=True)
class Verdict:
    """One entry, whether it fires, why or why not in words, and its text with macros filled."""

    entry: LoreEntry
    fired: bool
    why: str
    text: str = ""
    key: int | None = None
    """Which of the entry's keys was found, counted from 0; None when it needs none."""


@dataclass(slots=True)
class _Progress:
    scan: Scan
    fired: dict[int, str] = field(default_factory=dict)
    """Index of the entry to why it fired, in the order of firing."""
    closed: dict[int, str] = field(default_factory=dict)
    """Entries that cannot fire any more, and why."""
    open: dict[int, str] = field(default_factory=dict)
    """Entries that have not fired yet, and why."""
    keys: dict[int, int] = field(default_factory=dict)
    """Index of the entry to which of its keys was found."""
    told: list[str] = field(default_factory=list)
    """Texts of fired entries in which further keys are looked for."""
    hays: dict[tuple[int, int], Haystack] = field(default_factory=dict)

    def hay(self, depth: int, entries: bool) -> Haystack:
        """The newest turns, and what fired entries say if wanted."""
        told = len(self.told) if entries else 0
        key = (min(depth, len(self.scan.texts)), told)
        if key not in self.hays:
            newest = self.scan.texts[-depth:] if depth else ()
            self.hays[key] = Haystack.of([*newest, *self.told[:told]])
        return self.hays[key]


def activate(entries: Sequence[LoreEntry], scan: Scan) -> tuple[Verdict, ...]:
    """Return a verdict for every entry, in their order. Entries that fire fit into the budget together."""
    filled = [_filled(entry, scan) for entry in entries]
    progress = _Progress(scan)
    for step in range(scan.steps + 1 if scan.recursive else 1):
        before = len(progress.told)
        if not _pass(filled, progress, step) or len(progress.told) == before:
            break
    dropped = _without_room(filled, progress)
    return tuple(
        Verdict(
            entry=entries[index],
            fired=index in progress.fired and index not in dropped,
            why=dropped.get(index)
            or progress.fired.get(index)
            or progress.closed.get(index)
            or progress.open.get(index, "not looked at"),
            text=entry.content,
            key=progress.keys.get(index),
        )
        for index, entry in enumerate(filled)
    )


def placed(verdicts: Iterable[Verdict], *positions: Position) -> list[Verdict]:
    """Return what fired at these positions, low order first."""
    fired = [verdict for verdict in verdicts if verdict.fired and verdict.entry.position in positions]
    return sorted(fired, key=lambda verdict: verdict.entry.order)


def _filled(entry: LoreEntry, scan: Scan) -> LoreEntry:
    return replace(
        entry,
        content=scan.fill(entry.content).strip(),
        keys=tuple(map(scan.fill, entry.keys)),
        secondary=tuple(map(scan.fill, entry.secondary)),
    )


def _pass(entries: Sequence[LoreEntry], progress: _Progress, step: int) -> bool:
    """Look at every entry that has not fired; whether one did."""
    fresh: list[int] = []
    for index, entry in enumerate(entries):
        if index in progress.fired or index in progress.closed:
            continue
        if not step and (obstacle := _closed(entry, progress.scan)):
            progress.closed[index] = obstacle
            continue
        fires, why, key = _decide(entry, progress, step)
        if fires and key is not None:
            progress.keys[index] = entry.keys.index(key)
        if not fires:
            progress.open[index] = why
        elif progress.scan.draw(entry) >= entry.probability:
            progress.closed[index] = f"{why}, but its chance of {entry.probability:g}% was missed"
        else:
            progress.fired[index] = why
            fresh.append(index)
    progress.told += [entries[index].content for index in fresh if not entries[index].stays_alone]
    return bool(fresh)


def _closed(entry: LoreEntry, scan: Scan) -> str:
    """Why an entry cannot fire this time, whatever is said; empty when it may."""
    rules = entry.rules
    keyless = not (entry.keys or entry.constant or rules.activate)
    early = scan.turns < rules.after_turns
    between = bool(rules.every_turns and scan.turns % rules.every_turns)
    obstacles = (
        (not entry.enabled, "switched off"),
        (not entry.content, "empty"),
        (rules.never, "@@dont_activate"),
        (keyless, "it has no keys and is not constant"),
        (early, f"only after {rules.after_turns} turns (now {scan.turns})"),
        (between, f"only every {rules.every_turns} turns (now {scan.turns})"),
    )
    return next((why for holds, why in obstacles if holds), "")


def _decide(entry: LoreEntry, progress: _Progress, step: int) -> tuple[bool, str, str | None]:
    """Whether it fires, why or why not, and the key that made it."""
    if entry.only_from_entries and not step:
        return False, "only other entries make it fire", None
    depth = progress.scan.depth if entry.scan_depth is None else entry.scan_depth
    found = find(entry, progress.hay(depth, step > 0 and not entry.only_from_turns), progress.scan.search)
    trouble = f" ({found.trouble})" if found.trouble else ""
    if found.excluded:
        return False, f"excluded by “{found.excluded}”", None
    if entry.constant or entry.rules.activate:
        return True, "constant", None
    if found.key is None:
        return False, f"no key in the last {depth} turns{trouble}", None
    if found.objection:
        return False, f"“{found.key}” is there, but {found.objection}{trouble}", None
    return True, f"“{found.key}” is there" + (f", in what step {step} added" if step else ""), found.key


def _without_room(entries: Sequence[LoreEntry], progress: _Progress) -> dict[int, str]:
    """Return what fired and is left out: repeats, and the least important that do not fit."""
    dropped: dict[int, str] = {}
    left = progress.scan.budget
    taken: dict[str, int] = {}
    said: set[str] = set()
    for index in sorted(progress.fired, key=lambda index: _importance(entries[index], index)):
        entry = entries[index]
        cost = progress.scan.count(entry.content) + 1
        if fold(entry.content) in said:
            dropped[index] = f"{progress.fired[index]}, but another entry says the same"
        elif cost > left:
            dropped[index] = (
                f"{progress.fired[index]}, but it takes {cost} tokens and {max(0, left)} are left"
            )
        elif entry.book_budget is not None and cost > entry.book_budget - taken.get(entry.book, 0):
            rest = max(0, entry.book_budget - taken.get(entry.book, 0))
            dropped[index] = (
                f"{progress.fired[index]}, but it takes {cost} tokens and {rest} are left of its book's "
                f"{entry.book_budget}"
            )
        else:
            left -= cost
            taken[entry.book] = taken.get(entry.book, 0) + cost
            said.add(fold(entry.content))
    return dropped


def _importance(entry: LoreEntry, index: int) -> tuple[bool, int, int, int]:
    return (not entry.standing, -entry.priority, -entry.order, index)
