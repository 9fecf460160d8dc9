"""The Discord bot as one task: engine and connection begin and end in the right order."""

from __future__ import annotations

import asyncio
from typing import Final

from bot.adapters import aside
from bot.app import open_app
from bot.backups import BACKUP, copier
from bot.client import TroupeClient
from bot.errors import SettingsError
from bot.forgetting import handlers
from bot.job_files import JobFolder, do_waiting
from bot.reindex import REINDEX, rebuilder
from bot.settings import Settings

_STOP_S: Final = 1.5
"""Seconds for saying goodbye to Discord, of the ten that a stop may take."""


async def serve(settings: Settings) -> int:
    """Serve until cancelled; then running replies end and go out before the connection closes.

    `SettingsError` when a setting, the token or the intents are wrong, or another process owns the data.
    """
    token = settings.for_discord().discord_token
    if token is None:
        raise SettingsError("DISCORD_TOKEN is not set")
    client = TroupeClient()
    async with open_app(settings, lambda: client.messenger, channels=client.channels) as app:
        values = app.store.settings
        client.attach(app.troupe, load_value=values.value, save_value=values.set_value)
        folder = JobFolder(settings.data_dir)
        known = {**handlers(app.troupe), BACKUP: copier(settings.data_dir)}
        app.troupe.jobs.loop(
            lambda: do_waiting(folder, known, mine=lambda kind: kind != REINDEX),
            name="jobs of other processes",
        )
        anew = {REINDEX: rebuilder(app.troupe, app.scorer.refit)}
        app.troupe.jobs.loop(  # may take an hour, which nobody who wants to be forgotten should wait
            lambda: do_waiting(folder, anew, mine=lambda kind: kind == REINDEX),
            name="rebuild the search index when asked",
        )
        app.troupe.jobs.loop(
            lambda: asyncio.to_thread(aside.remove_old, settings.data_dir), name="old copies"
        )
        connection = asyncio.create_task(client.serve(token.get_secret_value()), name="discord")
        try:
            await asyncio.shield(connection)
        finally:
            await app.troupe.close()
            await client.stop(deadline_s=_STOP_S)
            connection.cancel()
            await asyncio.gather(connection, return_exceptions=True)
    return 0
