"""Finds Discord's markup in a text: what must stay whole, and what may be closed and opened again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_FENCE = re.compile(r"```(?P<lang>[\w+#.-]{0,30}\n)?(?P<body>.*?)(?P<end>```|\Z)", re.DOTALL)
_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)", re.DOTALL)
_WHOLE = re.compile(
    r"\[[^\[\]\n]{1,300}\]\(<?https?://[^\s()<>]{1,1500}(?:\([^\s()<>]*\)[^\s()<>]*)?>?"
    r"(?:\s+\"[^\"\n]*\")?\)|<https?://[^\s<>]+>|https?://[^\s<>]+"
    r"|<(?:@[!&]?|#)\d{1,20}>|<a?:\w{1,64}:\d{1,20}>|<t:-?\d{1,20}(?::[tTdDfFR])?>"
    r"|</[^:<>\n]{1,100}:\d{1,20}>"
)
_PAIRS: Final = ("||", "***", "**", "__", "~~", "*", "_")


@dataclass(frozen=True, slots=True)
class Span:
    """A marked stretch `text[start:end]`: cut inside, it is closed with `close`, opened again with `open`."""

    start: int
    end: int
    open: str
    close: str
    inner_start: int
    inner_end: int

    @property
    def is_fence(self) -> bool:
        return self.open.startswith("```")


@dataclass(frozen=True, slots=True)
class Markup:
    """The markup of one text. `atoms` are stretches (start, end) to keep whole; `spans` may be cut inside."""

    atoms: tuple[tuple[int, int], ...]
    spans: tuple[Span, ...]

    def open_at(self, at: int) -> list[Span]:
        """Return the spans that a cut at `at` falls into, outermost first."""
        return [span for span in self.spans if span.inner_start <= at <= span.inner_end]


def find_markup(text: str) -> Markup:
    """Return the fences, inline code, links, mentions, emoji and paired marks of a text."""
    spans, atoms, covered = _fixed(text)
    for mark in _PAIRS:
        spans += _pairs(text, mark, covered)[0]
    for span in spans:
        atoms += [(span.start, span.inner_start + 1), (span.inner_end - 1, span.end)]
    spans.sort(key=lambda span: (span.start, -span.end))
    return Markup(tuple(sorted(atoms)), tuple(spans))


def unclosed(text: str) -> list[tuple[int, str]]:
    """Return the marks that open and are never closed, with their places, in order."""
    covered = _fixed(text)[2]
    found = [
        (opened, mark) for mark in _PAIRS for opened in [_pairs(text, mark, covered)[1]] if opened is not None
    ]
    return sorted(found)


def _fixed(text: str) -> tuple[list[Span], list[tuple[int, int]], bytearray]:
    """Find code and atoms, and mark what they cover: no other mark counts there."""
    spans = [_fence(found) for found in _FENCE.finditer(text)]
    taken = [(span.start, span.end) for span in spans]
    spans += [_code(found) for found in _CODE.finditer(text) if not _overlaps(found.span(), taken)]
    taken = [(span.start, span.end) for span in spans]
    atoms = [found.span() for found in _WHOLE.finditer(text) if not _overlaps(found.span(), taken)]
    covered = bytearray(len(text))
    for start, end in (*taken, *atoms):
        covered[start:end] = b"\x01" * (end - start)
    return spans, atoms, covered


def _fence(found: re.Match[str]) -> Span:
    language = found["lang"] or ""
    body_start, body_end = found.span("body")
    return Span(found.start(), found.end(), "```" + (language or "\n"), "```", body_start, body_end)


def _code(found: re.Match[str]) -> Span:
    mark = found[1]
    return Span(found.start(), found.end(), mark, mark, found.start() + len(mark), found.end() - len(mark))


def _overlaps(part: tuple[int, int], taken: Sequence[tuple[int, int]]) -> bool:
    return any(part[0] < end and start < part[1] for start, end in taken)


def _pairs(text: str, mark: str, covered: bytearray) -> tuple[list[Span], int | None]:
    """Pair up a mark from left to right where it may open and close, cover both, and tell what stays open."""
    spans: list[Span] = []
    opened: int | None = None
    width = len(mark)
    at = text.find(mark)
    while at >= 0:
        if any(covered[at : at + width]) or text[at - 1 : at] == "\\":
            at = text.find(mark, at + 1)
            continue
        closes, opens = _sides(text, at, mark)
        if opened is not None and closes and at > opened + width:
            spans.append(Span(opened, at + width, mark, mark, opened + width, at))
            for start in (opened, at):
                covered[start : start + width] = b"\x01" * width
            opened = None
        elif opens:
            opened = at
        at = text.find(mark, at + width)
    if opened is not None:
        covered[opened : opened + width] = b"\x01" * width
    return spans, opened


def _sides(text: str, at: int, mark: str) -> tuple[bool, bool]:
    """Tell whether the mark at `at` can close what is before it, and open what is after it."""
    before = text[at - 1] if at else ""
    after = text[at + len(mark) : at + len(mark) + 1]
    if mark == "||":
        return bool(before), bool(after)
    if mark.startswith("_") and before.isalnum() and after.isalnum():
        return False, False
    return bool(before) and not before.isspace(), bool(after) and not after.isspace()
