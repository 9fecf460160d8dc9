"""When two names count as the same one."""

from __future__ import annotations

import unicodedata


def fold_name(name: str) -> str:
    """Return the name without differences of case, width and spacing, for comparing only."""
    narrow = unicodedata.normalize("NFKC", name)
    return unicodedata.normalize("NFKC", " ".join(narrow.casefold().split()))
