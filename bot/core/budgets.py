"""Shares the model's context out: persona and notes, recalled memories, window, reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bot.core.window import Count

SYSTEM_SHARE: Final = 0.45
SCRATCHPAD_SHARE: Final = 0.15
STANDING_SHARE: Final = 0.05
CHARACTER_SHARE: Final = 0.05
"""What a persona lives by is told in every prompt, with at most so much of the room."""
RECALL_SHARE: Final = 0.15
MOST_RECALL: Final = 0.35
LAST_SHARE: Final = 0.08
"""What the last message holds besides memories, when it is not longer: mood, names, turns to answer."""
_MARGIN: Final = 0.02


@dataclass(frozen=True, slots=True)
class Budgets:
    """Tokens for each part of a reply's prompt. The window gets what the others leave."""

    context: int
    reply: int
    """Kept free for the answer."""
    room: int
    """All that the prompt may take."""
    system: int
    scratchpad: int
    standing: int
    character: int
    recall: int
    last: int


def budgets(context_tokens: int, *, reply_tokens: int = 400, recall_tokens: int | None = None) -> Budgets:
    """Share out a context of `context_tokens`. Persona and notes get at most 45%, memories 15% unless
    `recall_tokens` says otherwise (at most 35%), the reply at most a quarter."""
    reply = min(reply_tokens, context_tokens // 4)
    room = max(64, int(context_tokens * (1 - _MARGIN)) - reply)
    recall = int(room * RECALL_SHARE) if recall_tokens is None else recall_tokens
    return Budgets(
        context=context_tokens,
        reply=reply,
        room=room,
        system=int(room * SYSTEM_SHARE),
        scratchpad=int(room * SCRATCHPAD_SHARE),
        standing=int(room * STANDING_SHARE),
        character=int(room * CHARACTER_SHARE),
        recall=min(recall, int(room * MOST_RECALL)),
        last=int(room * LAST_SHARE),
    )


def cut_to(text: str, budget: int, count: Count) -> str:
    """Return as much of the text's beginning as fits the budget, cut at a sentence or word, with an ellipsis.

    Empty when not even a few words fit.
    """
    if count(text) <= budget:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle] + "…") <= budget:
            low = middle
        else:
            high = middle - 1
    head = text[:low]
    ends = [head.rfind(mark) + 1 for mark in (". ", "! ", "? ", "\n", "。", "！", "？")]
    end = max(ends)
    if end < low // 2:
        end = max(head.rfind(" "), low // 2)
    head = head[:end].rstrip()
    return f"{head} …" if len(head) > 8 else ""
