"""Turns what SQLite and SQLAlchemy raise into `StorageError`s that say what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from bot.errors import StorageError

_ADVICE = (
    (
        ("malformed", "not a database", "encrypted"),
        "The database {path} is damaged or is no SQLite file. Stop Troupe and put a backup in its place, "
        "or move the file away to begin anew.",
    ),
    (
        ("locked", "busy"),
        "The database {path} is in use by another program. End that one (or a second Troupe), then retry.",
    ),
    (
        ("readonly", "read-only", "unable to open", "permission denied"),
        "The database {path} cannot be opened for writing. Give Troupe's user the right to write this file "
        "and its folder.",
    ),
    (
        ("disk is full", "no space left", "disk i/o"),
        "The disk of the database {path} is full or failing. Free some space; a running bot then goes on by "
        "itself.",
    ),
)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Inside, failures of the database leave as `StorageError`; texts of members are never part of it."""
    try:
        yield
    except PoolTimeout as error:
        raise StorageError("The database is too busy to read from. Try again in a moment.") from error
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise StorageError(_explain(error, path)) from error


def _explain(error: Exception, path: Path) -> str:
    cause = getattr(error, "orig", None) or error
    said = str(cause)
    for words, advice in _ADVICE:
        if any(word in said.lower() for word in words):
            return advice.format(path=path)
    return f"The database {path} did not do what was asked ({type(cause).__name__}: {said})."
