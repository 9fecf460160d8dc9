"""Names of people and personas: compared, found in text, and made safe to stand before a colon."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from bot.core.fences import quoted
from bot.core.types import Persona

LONGEST_NAME: Final = 80

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Scripts that write words without spaces, or hang endings on a name (Korean)."""
_KATAKANA = re.compile("[\u30a0-\u30ff\u31f0-\u31ff]")
_TITLE_WORDS: Final = (
    "a an the of le la les l der die das el los il lo de da di du van von captain doctor dr mr mrs ms miss "
    "sir lady lord king queen prince princess old little young big saint san santa st professor prof master "
    "mistress madame monsieur mademoiselle herr frau señor señora don doña pak bu bapak ibu aunt uncle "
    "mother father brother sister"
)
_TITLES: Final = frozenset(_TITLE_WORDS.split())


def fold(name: str) -> str:
    """Return the form in which names are compared: width, case, spaces and invisible characters folded."""
    if name.isascii() and name.isprintable():
        return " ".join(name.lower().split())
    plain = unicodedata.normalize("NFKC", name).casefold()
    visible = "".join(c for c in plain if unicodedata.category(c) not in ("Cf", "Cc") or c.isspace())
    return " ".join(visible.split())


def label_text(name: str) -> str:
    """Return a display name that is safe in a speaker tag.

    Line breaks, colons and square brackets would let a name pose as a tag of its own; they are taken out.
    Names of our blocks and control words of chat templates become plain words (`bot.core.fences`).
    """
    spaced = "".join(" " if c.isspace() else c for c in name)
    visible = "".join(c for c in spaced if unicodedata.category(c) != "Cc")
    plain = visible.replace("[", "(").replace("]", ")")
    plain = re.sub("[:：﹕︓ː˸։፡܃∶꞉]", " ", plain)
    return quoted(" ".join(plain.split()))[:LONGEST_NAME].strip() or "Somebody"


def called(persona: Persona) -> tuple[str, ...]:
    """Return everything the persona answers to: name, nickname, former names and their calling names."""
    names = [persona.name, persona.text("nickname"), *persona.former_names]
    names += [calling for name in names if (calling := calling_name(name))]
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def with_former(persona: Persona) -> str:
    """Return the persona's tag with what it was called before: "Selma (formerly Mira)"."""
    former = ", ".join(map(label_text, persona.former_names))
    return f"{label_text(persona.name)} (formerly {former})" if former else label_text(persona.name)


def calling_name(name: str) -> str | None:
    """Return the word a name of several words is usually called by: "Old Mira Vale" is called Mira."""
    words = name.split()
    if len(words) < 2:
        return None
    for word in words:
        bare = word.strip(".,'’\"“”()")
        if len(bare) >= 3 and fold(bare) not in _TITLES and bare[:1].upper() == bare[:1]:
            return bare
    return None


def find_name(text: str, name: str) -> int | None:
    """Return where the text (in NFKC form) first names somebody called `name`, or None.

    Whole words only; a name that begins with a capital must do so in the text too ("will you" names
    no Will). In scripts without spaces a name may stand inside a run.
    """
    wanted = fold(name)
    if not wanted:
        return None
    plain = unicodedata.normalize("NFKC", text)
    folded, origin = _fold_with_origin(plain)
    capital = _has_capital(name)
    for start in _occurrences(folded, wanted):
        if not _whole(folded, start, start + len(wanted)):
            continue
        if not capital or not plain[origin[start]].islower():
            return origin[start]
    return None


def _has_capital(name: str) -> bool:
    first = name.strip()[:1]
    return first.upper() == first and first.lower() != first


def _fold_with_origin(plain: str) -> tuple[str, list[int]]:
    """Fold character by character, keeping for each folded character where it came from."""
    folded: list[str] = []
    origin: list[int] = []
    for index, character in enumerate(plain):
        piece = " " if character.isspace() else character.casefold()
        repeated = piece == " " and folded[-1:] == [" "]
        if unicodedata.category(character) != "Cf" and not repeated:
            folded.append(piece)
            origin.extend([index] * len(piece))
    return "".join(folded), origin


def _occurrences(text: str, wanted: str) -> Iterator[int]:
    start = text.find(wanted)
    while start >= 0:
        yield start
        start = text.find(wanted, start + 1)


def stands_alone(text: str, start: int, end: int) -> bool:
    """Tell whether a part of a text is a whole word, or in scripts without spaces may be one."""
    return _whole(text, start, end)


def _whole(text: str, start: int, end: int) -> bool:
    before = _joined(text[start - 1 : start] if start else "", text[start])
    return not before and not _joined(text[end : end + 1], text[end - 1])


def _joined(outside: str, edge: str) -> bool:
    """Tell whether a character beside a name makes it part of a longer word."""
    if not outside:
        return False
    if _KATAKANA.match(edge):
        return bool(_KATAKANA.match(outside)) and outside != "・"
    if _UNSPACED.match(edge) or _UNSPACED.match(outside):
        return False
    return outside == "_" or unicodedata.category(outside)[0] in "LNM"
