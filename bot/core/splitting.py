"""Splits a long text into Discord messages at its natural borders, with its markup whole in each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bot.core.graphemes import may_cut
from bot.core.markup import Markup, Span, find_markup

LIMIT: Final = 2000
_FULLEST: Final = 0.55
"""A border is only taken when the message gets at least this full, unless there is no other."""
_LINE: Final = re.compile(r"\n")
_BORDERS: Final = (
    re.compile(r"\n[ \t]*\n\s*"),
    _LINE,
    re.compile(
        r"[.!?…。！？؟۔।॥][\"'”’»」』)\]*_~|]{0,4}(?:\s+|(?<=[。！？])|(?<=[。！？]”))|[。！？](?=\S)"
    ),
    re.compile(r"[,;:，、；：—–-]\s+|[，、；：]"),
    re.compile(r"\s+"),
)
"""From best to worst: paragraph, line, sentence, clause, word."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One message: a stretch of the source, with the marks that open and close it."""

    opening: str
    body: str
    closing: str

    @property
    def text(self) -> str:
        return f"{self.opening}{self.body}{self.closing}"


def split(text: str, limit: int = LIMIT) -> list[str]:
    """Return the text as messages of at most `limit` characters (UTF-16 units, the stricter count).

    Cut at paragraphs, else lines, sentences, words. Code fences (with their language), spoilers, bold and
    italics are closed and opened again; links, emoji, mentions and characters of several code points stay
    whole where they fit a message at all. The pieces are the text again, but for those marks and the
    space at cuts. No message is blank.
    """
    return [piece.text for piece in pieces(text, limit)]


def pieces(text: str, limit: int = LIMIT) -> list[Piece]:
    """Return the messages of `split` with the added marks apart. `limit` is at least 80."""
    if limit < 80:
        raise ValueError("a message holds at least 80 characters")
    text = text.strip("\n")
    if text.count("```") % 2:
        text += "\n```"
    return [piece for piece in _pieces(text, limit) if piece.body.strip()] if text.strip() else []


def length(text: str) -> int:
    """Return the length in UTF-16 units: what no counter of Discord exceeds."""
    return len(text) + sum(character > "\uffff" for character in text)


def _pieces(text: str, limit: int) -> Iterator[Piece]:
    markup = find_markup(text)
    start = 0
    while start < len(text):
        inside = [span for span in markup.open_at(start) if span.start < start]
        opening = _opening(inside)
        if length(opening) + length(text[start:]) <= limit:
            yield Piece(opening, text[start:], "")
            return
        end = _cut(text, start, markup, limit - length(opening))
        left = [span for span in markup.open_at(end) if span.start < end < len(text)]
        body = text[start:end]
        fenced = any(span.is_fence for span in left)
        yield Piece(opening, body if fenced else body.rstrip(), _closing(left, body))
        start = _skip_space(text, end, fenced)


def _opening(spans: list[Span]) -> str:
    return "".join(span.open for span in spans)


def _closing(spans: list[Span], body: str) -> str:
    marks = ""
    for span in reversed(spans):
        newline = "\n" if span.is_fence and not body.endswith("\n") else ""
        marks += newline + span.close
    return marks


def _skip_space(text: str, at: int, fenced: bool) -> int:
    """Leave out the space after a cut; inside code it counts, so it stays."""
    if fenced:
        return at
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _cut(text: str, start: int, markup: Markup, room: int) -> int:
    """Return where the message that begins at `start` ends: the best border among the fullest."""
    fits = _Fits(text, start, room, markup)
    furthest = _furthest(text, start, room)
    least = start + max(1, int((furthest - start) * _least_share(text, start, room)))
    for minimum, border in _order(least, start + 1, any(s.is_fence for s in markup.open_at(furthest))):
        for at in _borders(text, minimum, furthest, border):
            if fits.whole(at):
                return at
    backwards = range(furthest, start, -1)
    choices = (fits.whole, lambda at: fits.closed(at) and may_cut(text, at), fits.closed)
    return next((at for choice in choices for at in backwards if choice(at)), start + 1)


def _order(least: int, any_place: int, in_code: bool) -> list[tuple[int, re.Pattern[str]]]:
    """Return where to look for borders, best first: code is cut at a line wherever there is one."""
    if in_code:
        return [(least, _LINE), (any_place, _LINE), *((least, border) for border in _BORDERS)]
    return [(minimum, border) for minimum in (least, any_place) for border in _BORDERS]


def _least_share(text: str, start: int, room: int) -> float:
    """Return how full a message must be so that the rest still fits the fewest messages."""
    rest = length(text[start:])
    messages = -(-rest // room)
    needed = (rest - (messages - 1) * room * 0.97) / room
    return min(0.95, max(_FULLEST, needed))


def _furthest(text: str, start: int, room: int) -> int:
    end = min(len(text), start + room)
    while length(text[start:end]) > room:
        end -= max(1, (length(text[start:end]) - room) // 2)
    return end


def _borders(text: str, least: int, furthest: int, border: re.Pattern[str]) -> list[int]:
    """Return the ends of borders in the range, furthest first; space after a cut need not fit."""
    found = []
    for match in border.finditer(text, max(0, least - 1), min(len(text), furthest + 1)):
        at = match.end() if match.end() <= furthest else match.start()
        if match.end() > furthest and not text[match.start()].isspace():
            continue
        if least <= at <= furthest:
            found.append(at)
    return found[::-1]


class _Fits:
    """Judges the places where the message that begins at `start` could end."""

    def __init__(self, text: str, start: int, room: int, markup: Markup) -> None:
        self._text = text
        self._start = start
        self._room = room
        self._markup = markup
        self._atoms = [part for part in markup.atoms if part[0] < start + room and part[1] > start]

    def whole(self, at: int) -> bool:
        """Nothing that belongs together is torn, the message is not blank, and it is short enough."""
        if any(begin < at < end for begin, end in self._atoms) or not may_cut(self._text, at):
            return False
        return bool(self._text[self._start : at].strip()) and self.closed(at)

    def closed(self, at: int) -> bool:
        """The message is short enough with its open marks closed."""
        body = self._text[self._start : at]
        spans = [span for span in self._markup.open_at(at) if span.start < at]
        return length(body) + len(_closing(spans, body)) <= self._room
