"""Recognises a speaker's name set before what is said, in the many forms that models write it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from bot.core.names import fold

_MARKS: Final = "*_~`"
_COLON = re.compile("[:：﹕︓]")
_OPENING = re.compile(rf"[\s>#{_MARKS}]*")
_LEFT: Final = r"\[(<{【〔"
_RIGHT: Final = r"\])>}】〕"
_BRACKETED = re.compile(
    rf"[\s>#{_MARKS}]*[{_LEFT}]{{1,2}}(?P<name>[^{_LEFT}{_RIGHT}\n]{{1,80}})[{_RIGHT}]{{1,2}}"
    rf"[{_MARKS}]*\s*[:：]?[{_MARKS}]*\s*"
)
_HEADER = re.compile(rf"\s*(?:#{{1,6}}\s*[{_MARKS}]*|[*_]{{1,3}})(?P<name>[^\n*_#]{{1,80}})[{_MARKS}]*\s*")
_SAYING: Final = (
    "says said say replies replied answers answered asks asked whispers whispered shouts shouted thinks "
    "thought murmurs mutters continues dit demande répond sagt fragt antwortet dice pregunta responde "
    "berkata menjawab bertanya dijo diz"
)
_VERB = re.compile(rf"\s*\b(?:{'|'.join(_SAYING.split())})$|\s*(?:说道?|說道?|道|问|問)$")
_ASIDE = re.compile(r"\s*[\[(（【][^\[\]()（）【】\n]{1,40}[\])）】]\s*$")
_AROUND: Final = f' \t>#{_MARKS}[](){{}}<>【】〔〕"“”'
_FURTHEST: Final = 120
_COLONS: Final = 3


def tag_length(line: str, names: Collection[str], *, whole_line: bool = True) -> int | None:
    """Return how many characters of the line are a tag of one of `names` (folded), or None when it has none.

    Forms: `Mira:`, `**Mira:**`, `[Mira]`, `Mira [narrates]:`, `Mira says:`, `### Mira`, in any script and
    width. `whole_line` is False while the line is still being written.
    """
    for name, length in _readings(line, whole_line):
        if name in names:
            return length
    return None


def _readings(line: str, whole_line: bool) -> Iterator[tuple[str, int]]:
    for colon in list(_COLON.finditer(line, 0, _FURTHEST))[:_COLONS]:
        head = line[: colon.start()]
        end = _after_colon(line, head, colon.end())
        for name in _names(head):
            yield name, end
    bracketed = _BRACKETED.match(line)
    if bracketed:
        for name in _names(bracketed["name"]):
            yield name, bracketed.end()
    header = _HEADER.fullmatch(line) if whole_line else None
    if header:
        for name in _names(header["name"]):
            yield name, header.end()


def _names(head: str) -> Iterator[str]:
    """Yield what the text before a colon may name: as it is, without brackets, an aside, a verb."""
    yield fold(head.strip(f" \t>#{_MARKS}"))
    yield fold(head.strip(_AROUND))
    without_aside = fold(_ASIDE.sub("", head).strip(_AROUND))
    yield without_aside
    yield _VERB.sub("", without_aside)


def _after_colon(line: str, head: str, end: int) -> int:
    """Take in the marks that close what was opened before the name: `**Mira:** Hi`."""
    opening = _OPENING.match(head)
    marks = "".join(c for c in (opening.group() if opening else "") if c in _MARKS)
    closed = head.rstrip(" ])>】").endswith(marks) if marks else True
    if not closed and line.startswith(marks[::-1], end):
        end += len(marks)
    while end < len(line) and line[end] in " \t\u00a0\u3000":
        end += 1
    return end
