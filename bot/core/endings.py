"""Repairs how a reply ends: back to the last full sentence, open marks and quotes closed."""

from __future__ import annotations

import re
from typing import Final

from bot.core.markup import unclosed

_CLOSERS: Final = "\"'”’»›」』）)\\]*_~|"
_END = re.compile(
    rf"(?:[.!?…؟۔।॥‽]+[{_CLOSERS}]*(?=\s|$)|[。！？]+[{_CLOSERS}]*|(?<=[^\s*])\*(?=\s|$)|\n+|(?<=[\u0e00-\u0eff])\s)"
)
_DANGLING = re.compile(r"(?:(?:^|\s+)(?:\*{1,3}|_{1,3}|\|\||~~|[\"“«「『]))+$")
"""Marks at the end that open nothing."""
_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|Mme|M|Sr|Sra|vs|etc|No)|\b[A-Z])\.$")
_ENOUGH: Final = 0.25
"""A text is not cut back to less than this share of itself."""
_QUOTES: Final = {"“": "”", "«": "»", "「": "」", "『": "』"}


def to_last_sentence(text: str) -> str:
    """Return a text that a limit cut off, back to its last full sentence, or its last word and an ellipsis.

    Within a code fence it goes back to the last full line.
    """
    text = text.rstrip()
    if text.count("```") % 2:
        return _to_last_line(text)
    ends = [found.end() for found in _END.finditer(text) if not _ABBREVIATION.search(text[: found.end()])]
    kept = text[: ends[-1]].rstrip() if ends else ""
    if len(kept) >= len(text) * _ENOUGH and kept:
        return kept
    words = text.rsplit(None, 1)
    return f"{(words[0] if len(words) > 1 else text).rstrip(' ,;:-–—*_')}…"


def close_open(text: str) -> str:
    """Return the text with open fences, bold, italics, spoilers and quotes closed where they would end.

    A mark with nothing after it is taken out instead.
    """
    text = text.rstrip()
    if text.count("```") % 2:
        return text.removesuffix("```").rstrip() if text.endswith("```") else f"{text}\n```"
    return _with_closers(_DANGLING.sub("", text))


def _to_last_line(text: str) -> str:
    fence = text.rindex("```")
    first, last = text.find("\n", fence), text.rfind("\n")
    if first == last:
        return text
    return text[:last]


def _with_closers(text: str) -> str:
    """Close each mark at the end of its paragraph, the inner before the outer."""
    closers = [(at, mark) for at, mark in unclosed(text)] + _open_quotes(text)
    for at, closer in sorted(closers, reverse=True):
        paragraph = text.find("\n\n", at)
        end = len(text) if paragraph < 0 else paragraph
        text = f"{text[:end].rstrip()}{closer}{text[end:]}"
    return text


def _open_quotes(text: str) -> list[tuple[int, str]]:
    """Return the quotes left open in the last paragraph, with what closes them."""
    start = text.rfind("\n\n") + 1
    last = text[start:]
    found = [
        (start + last.rfind(opening), closing)
        for opening, closing in _QUOTES.items()
        if last.rfind(opening) > last.rfind(closing)
    ]
    straight = [match.start() for match in re.finditer('"', last)]
    opens = re.compile(r"(?:^|[\s(*_—–-])\"(?=\S)")
    if len(straight) % 2 and opens.search(last, max(0, straight[-1] - 1)):
        found.append((start + straight[-1], '"'))
    return found
