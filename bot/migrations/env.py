"""How Alembic runs Troupe's migrations: one real transaction each, undone as a whole when it fails."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from alembic import context
from alembic.runtime.migration import MigrationContext, MigrationInfo
from sqlalchemy import URL, Connection, create_engine, event, pool

from bot.adapters.sql_store.tables import metadata
from bot.errors import StorageError


def run(path: Path) -> None:
    """Applies what is missing. Foreign keys stay off: rebuilding a parent table would delete its children."""
    engine = create_engine(
        URL.create("sqlite", database=str(path)), poolclass=pool.NullPool, hide_parameters=True
    )

    @event.listens_for(engine, "connect")
    def _connect(driver: Any, _record: object) -> None:
        driver.isolation_level = None  # else the driver commits before DDL, and half a migration stays
        driver.execute("PRAGMA busy_timeout=5000")
        driver.execute("PRAGMA secure_delete=ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN EXCLUSIVE")

    with engine.connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=metadata,
            render_as_batch=True,
            transactional_ddl=True,
            transaction_per_migration=True,
            on_version_apply=_check_references,
        )
        with context.begin_transaction():
            context.run_migrations()


def _check_references(
    ctx: MigrationContext, step: MigrationInfo, heads: Collection[Any], run_args: Mapping[str, Any]
) -> None:
    """Runs before each migration's commit, since foreign keys were off while it worked."""
    connection = ctx.connection
    broken = [] if connection is None else connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
    if broken:
        tables = ", ".join(sorted({str(row[0]) for row in broken}))
        raise StorageError(f"a migration would leave rows without their parents in: {tables}")


run(context.config.attributes["database"])
