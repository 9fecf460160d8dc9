"""`python -m bot forget` and `purge`: by the running bot where there is one, else alone."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from bot.adapters import aside
from bot.adapters.lance_index import LanceIndex
from bot.adapters.privacy_ledger import open_ledger
from bot.adapters.sql_store import SqlStore, open_store
from bot.app import DATABASE, INDEX, now
from bot.core.privacy import Owned
from bot.encoders import encoder_of
from bot.engine.eraser import Eraser
from bot.engine.index_probe import IndexProbe
from bot.engine.indexing import Indexer
from bot.engine.troupe import Troupe
from bot.job_asking import by_the_bot_or_alone
from bot.job_files import Handler
from bot.settings import Settings
from bot.terminal import Screen

FORGET: Final = "forget"
PURGE: Final = "purge"


async def forget(settings: Settings, member_id: int) -> int:
    """Forget a Discord user everywhere; 0 when no byte is left."""
    return await _done(settings, FORGET, member_id)


async def purge(settings: Settings, guild_id: int) -> int:
    """Remove a server with all that belongs to it; 0 when no byte is left."""
    return await _done(settings, PURGE, guild_id)


def handlers(troupe: Troupe) -> Mapping[str, Handler]:
    """What a running bot does with the jobs that these commands leave."""

    async def forget_member(member_id: int, progress: Callable[[str], None]) -> str:
        return forgotten(await troupe.privacy.forget(member_id, progress=progress))

    async def purge_space(space_id: int, progress: Callable[[str], None]) -> str:
        return purged(await troupe.privacy.purge(space_id, progress=progress))

    return {FORGET: forget_member, PURGE: purge_space}


def forgotten(what: Owned) -> str:
    """What there was, in words."""
    if what.nothing:
        return "Nothing was kept of this user."
    return (
        f"Forgotten: {what.turns} messages, {what.replies} answers to them, {what.aliases} aliases, "
        f"{what.memories} memories, {what.notes} lines of notes, {what.samples} sample lines. "
        "No byte of them is left."
    )


def purged(turns: int) -> str:
    """The same for a server."""
    return f"The server is removed, with {turns} messages and all that was made of them. No byte is left."


# ---------------------------------------------------------------- alone
async def _done(settings: Settings, kind: str, subject_id: int) -> int:
    screen = Screen(out=sys.stdout, interactive=sys.stdout.isatty())
    result = await by_the_bot_or_alone(
        settings.data_dir, kind, subject_id, lambda: _alone(settings, kind, subject_id, screen), screen
    )
    screen.line(result.text)
    return 0 if result.ok else 1


async def _alone(settings: Settings, kind: str, subject_id: int, screen: Screen) -> str:
    async with eraser_alone(settings) as (eraser, store), screen.waiting("Erasing"):
        await eraser.catch_up()
        if kind == PURGE:
            erased = await eraser.space_rows(subject_id)
            await eraser.bytes_of(erased)
            return purged(erased.turns)
        what = await store.privacy.owned(subject_id)
        await eraser.bytes_of(await eraser.member_rows(subject_id, what))
        return forgotten(what)


@asynccontextmanager
async def eraser_alone(
    settings: Settings, *, copies_too: bool = True
) -> AsyncIterator[tuple[Eraser, SqlStore]]:
    """With the data folder owned. Turns of others that named a member are encoded at the next start."""

    async def remove_copies() -> None:
        if copies_too:
            await asyncio.to_thread(aside.remove_all, settings.data_dir)

    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings.data_dir / DATABASE))
        encoder = await stack.enter_async_context(encoder_of(settings))
        index = await stack.enter_async_context(
            LanceIndex.open(settings.data_dir / INDEX, encoder_id=encoder.id, dimensions=encoder.dimensions)
        )
        indexer = Indexer(
            memories=store.memories,
            index=index,
            encoder=encoder,
            probe=IndexProbe(store=store.settings, encoder=encoder),
            scorer=None,
            felt=lambda place_id, feelings: None,
            erase_bytes=store.erase_bytes,
            now=now,
        )
        ledger = await asyncio.to_thread(open_ledger, settings.data_dir)
        yield (
            Eraser(
                store=store.privacy,
                ledger=ledger,
                indexer=indexer,
                remove_copies=remove_copies,
                now=now,
            ),
            store,
        )
