"""Takes a member's names out of what others said, after the member asked to be forgotten."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from bot.core.names import fold, label_text
from bot.core.scripts import DENSE

SOMEBODY: Final = "somebody"
_SHORTEST: Final = 2


class Names:
    """The names one member was known by. Nothing is named by an empty set."""

    def __init__(self, names: Iterable[str], *, shared: Collection[str] = ()) -> None:
        """`shared` are names that somebody who stays has as well; they name nobody alone and are left."""
        kept_by_others = {fold(name) for name in shared}
        forms = {form for name in names for form in _forms(name)}
        self.all = tuple(
            sorted(
                (name for name in forms if len(name) >= _SHORTEST and fold(name) not in kept_by_others),
                key=lambda name: (-len(name), name),
            )
        )
        either = "|".join(_pattern(name) for name in self.all)
        self._exact = re.compile(either) if either else None
        self._any_case = re.compile(either, re.IGNORECASE) if either else None

    def __bool__(self) -> bool:
        return bool(self.all)

    def in_text(self, text: str) -> bool:
        """Whether a text names the member, in any case of letters."""
        return self._any_case is not None and self._any_case.search(text) is not None

    def out_of(self, text: str) -> str:
        """The text with "somebody" for each name, written as the member writes it.

        A name that is a common word keeps its other spellings: "Will" goes, "will" stays.
        """
        return text if self._exact is None else self._exact.sub(SOMEBODY, text)


def _forms(name: str) -> set[str]:
    """A name as it may stand in a text: as it is, with single spaces, as the speaker tag shows it."""
    return {form for form in (name.strip(), " ".join(name.split()), label_text(name)) if form}


def _pattern(name: str) -> str:
    """The name as a word of its own; bounds do not apply where a script has no spaces."""
    before = "" if DENSE.match(name[0]) or not _is_wordy(name[0]) else r"(?<!\w)"
    after = "" if DENSE.match(name[-1]) or not _is_wordy(name[-1]) else r"(?!\w)"
    return f"{before}{re.escape(name)}{after}"


def _is_wordy(character: str) -> bool:
    return re.match(r"\w", character) is not None
