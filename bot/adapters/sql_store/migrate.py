"""Brings a database file to the newest schema before anyone else opens it."""

from __future__ import annotations

import logging
from pathlib import Path

from bot.adapters.sql_store.faults import storage_errors

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"


def upgrade(path: Path, script_location: Path = MIGRATIONS) -> None:
    """Applies each missing migration in its own transaction, oldest first; blocks, so call it in a thread.

    A migration that fails is wholly undone, those before it stay, and the next call tries again.
    Raises StorageError.
    """
    from alembic import command  # noqa: PLC0415  (slow to import, and needed only here)
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    from bot.errors import StorageError  # noqa: PLC0415

    logging.getLogger("alembic").setLevel(logging.WARNING)
    config = Config()
    config.set_main_option("script_location", str(script_location).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["database"] = path
    try:
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            command.upgrade(config, "head")
    except CommandError as error:
        raise StorageError(
            f"The database {path} was written by a newer Troupe ({error}). Install that version again, "
            "or put back a backup made with this one."
        ) from error
