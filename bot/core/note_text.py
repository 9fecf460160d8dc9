"""Judges one note that a model wrote: what is worth keeping of it, and which section it belongs to."""

from __future__ import annotations

import re
from typing import Any, Final

from bot.core.names import fold
from bot.core.refusals import is_refusal
from bot.core.scratchpad import LONGEST_LINE

_BULLET = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)])\s+")
_PLAYED = re.compile(r"(?:\*[^*]+\*|[\"“«「][^\"“”«»「」]+[\"”»」])[\s.!?]*")
_FORM = re.compile(r"<[^<>]*>[.!]?|\.\.\.|…")
"""A placeholder of the form that the prompt shows, copied."""
_CHATTER = re.compile(
    r"(?:certainly|sure|of course|here (?:is|are)|okay|ok|no (?:new )?(?:facts|notes|changes)|none|n/?a)\b"
    r"[^.]{0,40}[.!:…]*",
    re.IGNORECASE,
)


def note_text(value: Any) -> str:
    """Return a note in one line, cut to its longest; empty for what is no note."""
    if not isinstance(value, str):
        return ""
    text = _BULLET.sub("", " ".join(value.split()))
    if not any(c.isalpha() for c in text) or _PLAYED.fullmatch(text) or _CHATTER.fullmatch(text):
        return ""
    if _FORM.fullmatch(text) or is_refusal(text):
        return ""
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1].rsplit(" ", 1)[0] + "…"


_SECTION_WORDS: Final = {
    "place": "place where when time location setting lieu ort lugar tempat waktu 地点 场所",
    "people": "people who characters cast present persons personnes personen personas orang 人物",
    "events": "events event happened happening plot scene summary événements ereignisse eventos 事件",
    "feelings": "feelings relations relationships emotions mood sentiments gefühle perasaan 感情 关系",
    "threads": "threads promises open goals quests plans promesses versprechen janji 承诺 线索",
    "standing": "standing instructions rules preferences wishes règles regeln aturan 指示 规则",
}
_SECTION_OF: Final = {word: key for key, words in _SECTION_WORDS.items() for word in words.split()}


def section_of(value: Any) -> str:
    """Return the section that a model's word for it means; what nobody knows just happened."""
    words = re.findall(r"[^\W_]+", fold(value)) if isinstance(value, str) else []
    return next((_SECTION_OF[word] for word in words if word in _SECTION_OF), "events")
