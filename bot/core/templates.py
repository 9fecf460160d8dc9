"""Prompt texts with $variables, filled strictly: what is missing or unknown fails before anything runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "reply_intro": "name",
        "reply_system": "intro name former description personality scenario values wants fears never samples "
        "scene location situation time standing scratchpad lore_before lore_after",
        "reply_last": "before memories aside lore mood relations present hints turns",
        "notes.memories": "name memories",
        "notes.lore": "lore",
        "notes.aside": "name aside",
        "notes.mood": "name mood",
        "notes.relations": "name relations",
        "notes.present": "names",
        "hints.repeated": "",
        "hints.refused": "name",
        "hints.empty": "name",
        "hints.ignored": "name",
        "hints.language": "",
        "hints.echoed": "",
        "hints.drifted": "name how",
        "memory_system": "",
        "memory_task": "notes known scene turns emotions",
        "draft_system": "",
        "draft_task": "idea",
        "character_task": "name card",
        "reflection_system": "name",
        "reflection_task": "name character memories",
        "emotion_system": "",
        "emotion_task": "turns emotions",
    }
)
"""Every prompt text and the variables it is filled with. `file.part` is a part of a file under `## part`."""
_VARIABLE = re.compile(r"\$(?:\$|([a-z_]+))")
_HEADING = re.compile(r"^## (\w+)\s*$", re.MULTILINE)
_BLOCK = re.compile(r"^<(/?)(\w+)>$")


@dataclass(frozen=True, slots=True)
class Template:
    """A text with $variables; `$$` is a dollar sign.

    A line all of whose variables are empty is left out, and so is a <block> that has none of its lines
    with variables left. Values stand as they are: nothing in them is filled again.
    """

    text: str

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(name for name in _VARIABLE.findall(self.text) if name)

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with every variable's value. Raises ValueError unless exactly those are given."""
        if set(values) != self.variables:
            wrong = ", ".join(sorted(set(values) ^ self.variables))
            raise ValueError(f"the prompt is filled with other variables than it has: {wrong}")
        filled = [self._line(line, values) for line in _without_empty_blocks(self.text.split("\n"), values)]
        text = "\n".join(line for line in filled if line is not None)
        return text.strip("\n")

    def _line(self, line: str, values: Mapping[str, str]) -> str | None:
        if _is_empty(line, values):
            return None
        return _VARIABLE.sub(lambda found: values[found[1]] if found[1] else "$", line)


@dataclass(frozen=True, slots=True)
class Prompts:
    """Every prompt text of Troupe. Made once, from the texts of the files."""

    templates: Mapping[str, Template]

    @classmethod
    def of(cls, files: Mapping[str, str]) -> Prompts:
        """Make the prompts from file texts by name. Raises ValueError that names every problem at once."""
        templates = {
            name: Template(text) for file, body in files.items() for name, text in _parts(file, body).items()
        }
        problems = [f"there is no prompt {name}" for name in VARIABLES if name not in templates]
        problems += [f"nothing uses the prompt {name}" for name in templates if name not in VARIABLES]
        for name, template in templates.items():
            expected = frozenset(VARIABLES.get(name, "").split())
            if name in VARIABLES and template.variables != expected:
                missing = ", ".join(f"${word}" for word in sorted(expected - template.variables))
                unknown = ", ".join(f"${word}" for word in sorted(template.variables - expected))
                problems.append(f"prompt {name}: missing [{missing}], unknown [{unknown}]")
        if problems:
            raise ValueError("; ".join(sorted(problems)))
        return cls(MappingProxyType(templates))

    def fill(self, prompt: str, /, **values: str) -> str:
        """Return the prompt of that name with its variables filled."""
        return self.templates[prompt].fill(values)


def _parts(file: str, body: str) -> dict[str, str]:
    """Split a file at its `## part` headings; without any it is one prompt."""
    pieces = _HEADING.split(body)
    if len(pieces) == 1:
        return {file: body.strip("\n")}
    return {f"{file}.{name}": text.strip("\n") for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def _is_empty(line: str, values: Mapping[str, str]) -> bool:
    names = [name for name in _VARIABLE.findall(line) if name]
    return bool(names) and not any(values[name] for name in names)


def _without_empty_blocks(lines: list[str], values: Mapping[str, str]) -> list[str]:
    """Leave out blocks all of whose variables are empty, and blank lines that would follow blank ones."""
    kept: list[str] = []
    at = 0
    while at < len(lines):
        opened = _BLOCK.match(lines[at])
        end = lines.index(f"</{opened[2]}>", at) if opened and f"</{opened[2]}>" in lines[at:] else at
        block = lines[at : end + 1]
        filled = [line for line in block if _VARIABLE.search(line)]
        left_out = bool(filled) and all(_is_empty(line, values) for line in filled)
        blank = not lines[at].strip() and (not kept or not kept[-1].strip())
        if not left_out and not blank:
            kept += block
        at = end + 1
    return kept
