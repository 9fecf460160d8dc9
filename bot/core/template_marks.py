"""Ends a model's answer where its chat template ends the turn, when the server lets the marks through."""

from __future__ import annotations

import re
from typing import Final

_OPENS: Final = r"<\|(?:im_start|start|start_header_id)\|>|<start_of_turn>"
_CLOSES: Final = (
    r"<\|(?:im_end|eot_id|eom_id|end|end_of_text|endoftext|end_of_turn_token|return|call|eos)\|>"
    r"|<end_of_turn>|<｜end▁of▁sentence｜>"
)
_HEADER = re.compile(
    rf"\s*(?:{_OPENS})[ \t]*(?P<role>[^\n<|]{{0,80}}?)[ \t]*(?:<\|(?:end_header_id|message)\|>\s*|\n|\Z)",
    re.IGNORECASE,
)
_LEADING = re.compile(
    rf"\s*(?:{_CLOSES}|</?s>|\[/INST\]|<\|(?:assistant|message|begin_of_text|chatbot_token|"
    r"start_of_turn_token)\|>|<｜(?:Assistant|begin▁of▁sentence)｜>|#{2,3} Response:?(?=\s))\s*",
    re.IGNORECASE,
)
_ENDS = re.compile(
    rf"{_CLOSES}|{_OPENS}|<\|(?:user|human|system|user_token|start_of_turn_token)\|>|<｜User｜>|\[/?INST\]"
    r"|<<SYS>>|^#{2,3} (?:Instruction|Human|User):",
    re.IGNORECASE | re.MULTILINE,
)
_TOOL_CALL = re.compile(
    r"<(tool_call|function_call|tool_code)>.*?(?:</\1>|\Z)|<function=[^<>\n]*>.*?(?:</function>|\Z)"
    r"|(?:\[TOOL_CALLS\]|<\|(?:python_tag|tool_call)\|>|<｜tool▁calls▁begin｜>).*\Z",
    re.DOTALL | re.IGNORECASE,
)
_OTHER = re.compile(r"<｜[^<>｜\n]{0,40}｜>")
_MODEL: Final = "model"
"""What the templates of one family call the assistant."""


def turn_in(text: str) -> tuple[str, bool]:
    """Return what an answer says up to where its template ends the turn, without marks and calls of tools;
    and whether it was ended there. A mark that opens a turn becomes a tag of its speaker, `user: `.
    """
    text = _TOOL_CALL.sub("", text)
    tags = ""
    while found := _HEADER.match(text) or _LEADING.match(text):
        role = found.groupdict().get("role")
        tags += f"{'assistant' if role.lower() == _MODEL else role}: " if role else ""
        text = text[found.end() :]
    end = _ENDS.search(text)
    return tags + _OTHER.sub("", text[: end.start()] if end else text), end is not None
