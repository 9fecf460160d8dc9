"""What the wording of a message says about the memory it asks for: a question, a person, a day."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bot.core.names import calling_name, find_name
from bot.core.tokens import MONTHS, fold

_ASKS = re.compile(r"[?？؟]|吗\s*$|呢\s*$|か[。.]?\s*$|(?:까|나요|니|죠)[.]?\s*$")
_ASKING_START = re.compile(
    r"\W*(?:who|whom|whose|what|when|where|which|why|how|did|do|does|is|are|was|were|has|have|had|can|could|"
    r"would|tell me|remind me|remember when|do you remember|où)\b"
)
_ASKING_ELSEWHERE: Final = (
    "wo wer wen wem wann warum wieso weshalb woher wohin welche[rs]? weisst\\s+du erinnerst\\s+du "
    "quand qui quoi comment pourquoi quelle? est-ce (?:tu\\s+)?te\\s+(?:souviens|rappelles) "
    "donde quien cuando por\\s+que cual recuerdas te\\s+acuerdas onde quem quando qual lembras? "
    "dove dov quando perche quale ti\\s+ricordi waar wanneer waarom gdzie kto kiedy dlaczego pamietasz "
    "kde kdo proc nerede nereye neden hatirliyor di\\s+mana siapa kapan kenapa mengapa bagaimana apakah "
    "где кто кого кому когда почему зачем куда откуда помнишь де хто коли чому"
)
"""How questions begin in other languages, folded; left out is what is also a word or name of English."""
_ASKED_ELSEWHERE = re.compile(rf"\W*(?:{'|'.join(_ASKING_ELSEWHERE.split())})\b")
_ASKED_INSIDE = re.compile(
    r"哪[里裡儿兒个個]|什么|什麼|[谁誰]|怎么|何时|どこ|いつ|なぜ|어디|누구|언제|왜|무엇"
)
_DAY_BEFORE = r"(?:(?P<before>\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?)?"
_DAY_AFTER = r"(?:\s+(?P<after>\d{1,2})(?:st|nd|rd|th)?\b(?!\d))?"
_YEAR = r"(?:(?:\s*,)?\s+(?P<year>(?:19|20|21)\d\d)\b)?"
_NAMED_DAY = re.compile(_DAY_BEFORE + rf"\b(?P<month>{'|'.join(MONTHS)})\b" + _DAY_AFTER + _YEAR)
_ISO_DAY = re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?\b")
_MAY_IS_A_MONTH = re.compile(r"\b(?:in|of|during|since|until|last|this|next|early|mid|late)\s+$")
_NEAR_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class NamedDay:
    """A month, with a day and a year where the message names them."""

    month: int
    day: int | None = None
    year: int | None = None

    def near(self, moment: datetime) -> bool:
        """Tell whether the moment lies in that month, and within a week of the day if one is named."""
        if moment.month != self.month or (self.year is not None and moment.year != self.year):
            return False
        return self.day is None or abs(moment.day - self.day) <= _NEAR_DAYS


def is_question(text: str) -> bool:
    """Tell whether a message reads as a question: it then names what it wants, a remark only hints."""
    if _ASKS.search(text) or _ASKING_START.match(text.lower()):
        return True
    return bool(_ASKED_ELSEWHERE.match(fold(text)) or _ASKED_INSIDE.search(text))


def named_days(text: str) -> list[NamedDay]:
    """Return the months and days that a text names in English or as 2023-05-08."""
    folded = fold(text)
    found: list[NamedDay] = []
    for match in _NAMED_DAY.finditer(folded):
        day, year = match["before"] or match["after"], match["year"]
        dated = day or year or match["month"] != "may"
        if dated or _MAY_IS_A_MONTH.search(folded[: match.start("month")]):
            found.append(NamedDay(MONTHS.index(match["month"]) + 1, _number(day), _number(year)))
    for match in _ISO_DAY.finditer(folded):
        month = int(match["month"])
        if 1 <= month <= 12:
            found.append(NamedDay(month, _number(match["day"]), int(match["year"])))
    return found


def named_speaker(text: str, speakers: Iterable[str]) -> str | None:
    """Return the one speaker whom the text names, in full or by the name used in calling; None if several."""
    named = {speaker for speaker in speakers if speaker and _names(text, speaker)}
    return named.pop() if len(named) == 1 else None


def _names(text: str, speaker: str) -> bool:
    if find_name(text, speaker) is not None:
        return True
    calling = calling_name(speaker)
    return calling is not None and find_name(text, calling) is not None


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None
