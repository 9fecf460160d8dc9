"""The SQLite store: all SQL of Troupe. Open it with `open_store`."""

from bot.adapters.sql_store.engine import SqlStore, open_store
from bot.adapters.sql_store.migrate import upgrade

__all__ = ["SqlStore", "open_store", "upgrade"]
