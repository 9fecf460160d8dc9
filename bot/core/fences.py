"""Keeps quoted text data: it cannot close a block of the prompt, nor speak a model's control words."""

from __future__ import annotations

import re
from typing import Final

BLOCKS: Final = (
    *("card", "voice", "scene", "wishes", "scratchpad", "notes", "turns", "world"),
    *("known_facts", "character", "memories", "idea"),
)
"""The names of the blocks that Troupe puts between `<name>` and `</name>`."""
_BLOCK = re.compile(rf"[<＜‹〈⟨]\s*(/?\s*(?:{'|'.join(BLOCKS)}))\s*[>＞›〉⟩]", re.IGNORECASE)
_CONTROL = re.compile(
    r"<(\|[^<>|\n]{0,40}\|)>|<(/?(?:start_of_turn|end_of_turn|think|thinking|bos|eos|s))>|"
    r"<(</?SYS>)>|\[(/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS))\]",
    re.IGNORECASE,
)
"""Words that chat templates give a meaning, so that a server may take them for the start of a message."""


def quoted(text: str) -> str:
    """Return text that stays inside its block: our own block names and control words become (words)."""
    without = _CONTROL.sub(lambda found: f"({next(group for group in found.groups() if group)})", text)
    return _BLOCK.sub(lambda found: f"({found.group(1)})", without)


def without_blocks(text: str) -> str:
    """Return a model's answer without blocks it copied from its prompt; an open one goes to the end."""
    names = "|".join(BLOCKS)
    closed = re.sub(rf"<({names})>.*?</\1>", "", text, flags=re.DOTALL | re.IGNORECASE)
    opened = re.sub(rf"<(?:{names})>.*\Z", "", closed, flags=re.DOTALL | re.IGNORECASE)
    bare = re.sub(rf"</(?:{names})>", "", opened, flags=re.IGNORECASE)
    return re.sub(r"<\|[^<>|\n]{0,40}\|>|</?(?:start_of_turn|end_of_turn|s)>", "", bare)
