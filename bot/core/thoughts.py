"""Takes a model's thoughts out of its text, also while the text arrives in pieces."""

from __future__ import annotations

import re

_WORDS = ("think", "thinking", "thought", "thoughts", "reasoning", "seed:think")
OPENING = (
    *(f"<{word}>" for word in _WORDS),
    "[think]",
    "◁think▷",
    "<|channel|>analysis<|message|>",
)
CLOSING = (
    *(f"</{word}>" for word in _WORDS),
    "[/think]",
    "◁/think▷",
    "<|channel|>final<|message|>",
)
_TAGS = (*OPENING, *CLOSING)
_LONGEST = max(map(len, _TAGS))
_TAG = re.compile("|".join(re.escape(tag) for tag in _TAGS), re.IGNORECASE | re.ASCII)


class ThoughtFilter:
    """Feed it pieces of an answer; it gives back what a reader may see.

    Any tag of the closing kind ends a thought, whatever opened it; tags do not nest. A thought that
    is never closed runs to the end. A closing tag that nothing opened ends a thought that began
    where the text began, or at the thought before: some servers put the opening into the prompt.

    Such a *headless* thought is only known at its end, when a stream has already shown it. With
    `hold_start` nothing is shown until a tag or the end of the text settles the question. Either way
    `text` ends up right, and the same however the answer was cut into pieces.
    """

    def __init__(self, *, hold_start: bool = False) -> None:
        self._tail = ""  # the start of what may become a tag
        self._kept = ""  # visible text before the newest thought
        self._open_end = ""  # visible text after it, still to be proved no thought
        self._inside = False
        self._skip_space = True
        self._holding = hold_start
        self.headless = False
        self.opened = False

    @property
    def text(self) -> str:
        """All visible text so far, without headless thoughts."""
        return self._kept + self._open_end

    @property
    def thinking(self) -> bool:
        """True inside a thought: where the text ends now, it would end in one."""
        return self._inside

    def feed(self, piece: str) -> str:
        """Take the next piece of the answer and return what became visible by it."""
        buffer = self._tail + piece
        shown = ""
        position = 0
        for tag in _TAG.finditer(buffer):
            shown += self._add(buffer[position : tag.start()])
            shown += self._open() if tag.group().lower() in OPENING else self._close()
            position = tag.end()
        rest = buffer[position:]
        cut = _start_of_tag(rest)
        self._tail = rest[cut:]
        return shown + self._add(rest[:cut])

    def finish(self) -> str:
        """Tell the filter that the answer is complete, and return what became visible by it."""
        rest, self._tail = self._tail, ""
        return self._add(rest) + self._let_go()

    def _add(self, text: str) -> str:
        if self._inside:
            return ""
        if self._skip_space:
            text = text.lstrip()
        if not text:
            return ""
        self._skip_space = False
        self._open_end += text
        return "" if self._holding else text

    def _open(self) -> str:
        self.opened = True
        shown = self._let_go()
        self._kept += self._open_end
        self._open_end = ""
        self._inside = True
        return shown

    def _close(self) -> str:
        if not self._inside:
            self.headless = True
            self._open_end = ""
        self._inside = False
        self._holding = False
        # Keep one gap where the thought stood between two, none where the text begins.
        self._skip_space = not self.text or self.text[-1].isspace()
        return ""

    def _let_go(self) -> str:
        if not self._holding:
            return ""
        self._holding = False
        return self._open_end


def _start_of_tag(text: str) -> int:
    """Return where a tag may have begun at the end of `text`, its length when none has."""
    for start in range(max(0, len(text) - _LONGEST + 1), len(text)):
        ending = text[start:].lower()
        if any(tag.startswith(ending) for tag in _TAGS):
            return start
    return len(text)
