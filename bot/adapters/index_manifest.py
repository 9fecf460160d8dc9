"""The small file beside the search index that says which encoder wrote which table."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.adapters.whole_file import write_whole

FORMAT = 1
FILE_NAME = "index.json"
_TABLE = re.compile(r"space_(\d+)_([0-9a-f]{12})")


@dataclass(frozen=True, slots=True)
class Manifest:
    """`encoders` maps the tag in table names to the encoder's full id and dimensions (0: unknown)."""

    encoders: dict[str, tuple[str, int]] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()
    """The tables that must exist; one that is missing was lost."""

    def with_table(self, name: str, encoder_id: str, dimensions: int) -> Manifest:
        encoders = {**self.encoders, encoder_tag(encoder_id): (encoder_id, dimensions)}
        return replace(self, encoders=encoders, tables=self.tables | {name})

    def without_table(self, name: str) -> Manifest:
        """An encoder whose last table goes is forgotten."""
        tables = self.tables - {name}
        tags = {parts[1] for parts in map(table_parts, tables) if parts}
        return Manifest({tag: one for tag, one in self.encoders.items() if tag in tags}, tables)


def encoder_tag(encoder_id: str) -> str:
    """A short name for an encoder that is safe in file names."""
    return hashlib.sha256(encoder_id.encode()).hexdigest()[:12]


def table_name(space_id: int, encoder_id: str) -> str:
    return f"space_{int(space_id)}_{encoder_tag(encoder_id)}"


def table_parts(name: str) -> tuple[int, str] | None:
    """The space and the encoder's tag; None for a table that is not ours."""
    match = _TABLE.fullmatch(name)
    return (int(match[1]), match[2]) if match else None


def read_manifest(folder: Path) -> Manifest | None:
    """None when there is no manifest. Raises ValueError when it cannot be understood."""
    try:
        text = (folder / FILE_NAME).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        found = json.loads(text)
        if found["format"] != FORMAT:
            raise ValueError(f"{FILE_NAME} has format {found['format']}, not {FORMAT}")
        encoders = {
            str(tag): (str(one["id"]), int(one["dimensions"])) for tag, one in found["encoders"].items()
        }
        return Manifest(encoders, frozenset(map(str, found["tables"])))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{FILE_NAME} is not a manifest of the index") from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replaces the file in one step: a crash leaves the old one or the new one."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "format": FORMAT,
        "encoders": {tag: {"id": id_, "dimensions": size} for tag, (id_, size) in manifest.encoders.items()},
        "tables": sorted(manifest.tables),
    }
    write_whole(folder / FILE_NAME, json.dumps(content, indent=1).encode())
