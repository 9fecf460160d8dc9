"""Reads the prompt texts beside this file."""

from __future__ import annotations

from pathlib import Path

from bot.core.templates import Prompts


def load() -> Prompts:
    """Return all prompts. Raises ValueError that names every missing or unknown text and variable."""
    folder = Path(__file__).parent
    return Prompts.of({path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))})
