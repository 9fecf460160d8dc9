"""The named moments at which a bot is killed: the function, how far into it, and what leads there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

_TABLE: Final = "bot.adapters.lance_table:LanceTable"
_SQL: Final = "bot.adapters.sql_store"


class Way(Enum):
    """What brings the bot to the moment."""

    TALK = "people talk"
    STOP = "it is told to stop (SIGTERM)"
    FORGET = "a member is forgotten"
    REBUILD = "it starts, and its search index was deleted"
    MIGRATE = "it starts on an old database"
    BACKUP = "a backup is asked for"


@dataclass(frozen=True, slots=True)
class Moment:
    """Killed inside `function`, up to `within` seconds after it was entered."""

    name: str
    function: str
    within: float
    way: Way = Way.TALK
    settings: Mapping[str, str] = field(default_factory=dict)

    def environment(self, seconds: float) -> dict[str, str]:
        """Has `tests.discord_server.launch_bot` kill the bot so many seconds into the function."""
        return {"LOOPBACK_DIE": f"{self.function}@{seconds:.4f}", **self.settings}


_OFTEN: Final = {"LOOPBACK_SET": "bot.adapters.lance_index:MERGE_AFTER=2"}
"""A table is otherwise put in order after 150 writes, which takes many minutes of talk."""

MOMENTS: Final = (
    Moment("cleaning a table up", f"{_TABLE}.tidy", 0.15, settings=_OFTEN),
    Moment("migrating", "alembic.runtime.migration:MigrationContext.run_migrations", 0.5, Way.MIGRATE),
    Moment("ending replies at a stop", "bot.engine.troupe:Troupe.close", 0.6, Way.STOP),
    Moment("writing a table anew", f"{_TABLE}.write_anew", 0.08, Way.FORGET),
    Moment("writing keys", f"{_TABLE}.upsert", 0.05),
    Moment("storing what was heard", f"{_SQL}.turns:SqlTurns.commit", 0.01),
    Moment("storing a reply before it is sent", f"{_SQL}.turns:SqlTurns.commit_reply", 0.01),
    Moment("sending a reply", "bot.adapters.webhooks:DiscordMessenger.speak", 0.03),
    Moment("noting that a reply was sent", f"{_SQL}.turns:SqlTurns.sent", 0.01),
    Moment("waiting for notes", "bot.engine.summarising:Summariser._ask", 0.7),
    Moment("storing notes", f"{_SQL}.scenes:SqlScenes.rewrite", 0.02),
    Moment("marking keys as written", f"{_SQL}.memories:SqlMemories.indexed", 0.01),
    Moment("folding small files", f"{_TABLE}.fold", 0.05),
    Moment("erasing a member's rows", f"{_SQL}.privacy:SqlPrivacy.erase", 0.03, Way.FORGET),
    Moment("writing the database anew", f"{_SQL}.engine:SqlStore.erase_bytes", 0.1, Way.FORGET),
    Moment("deleting old versions of a table", f"{_TABLE}.drop_old", 0.08, Way.FORGET),
    Moment("beginning the index anew", f"{_SQL}.memories:SqlMemories.restart_index", 0.02, Way.REBUILD),
    Moment("making a table", f"{_TABLE}.create", 0.1, Way.REBUILD),
    Moment("closing the connection at a stop", "bot.client:TroupeClient.stop", 0.3, Way.STOP),
    Moment("closing the database at a stop", f"{_SQL}.database:Database.close", 0.05, Way.STOP),
    Moment("copying the database for a backup", "bot.backups:copy_database", 0.1, Way.BACKUP),
)
"""In an order in which a short run sees the rarest first."""
