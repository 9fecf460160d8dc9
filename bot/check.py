"""`python -m bot check`: tries everything that a start needs, prints a table, and is 0 only then."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from bot.adapters.chat_model import OpenAIChatModel
from bot.adapters.lance_index import LanceIndex
from bot.adapters.local_model import BUNDLED_QUIRKS, LocalModel
from bot.adapters.seed_head import who_reads
from bot.adapters.sql_store import open_store
from bot.app import DATABASE, INDEX
from bot.data_lock import AlreadyOwned, owned
from bot.encoders import AnyEncoder, encoder_of
from bot.environment import ENV_FILE
from bot.errors import HeadFileError, TroupeError
from bot.fallbacks import Fallback
from bot.part_checks import database_rows, encoder_row, index_row, model_row
from bot.self_check import Row, State, failed, ok, simple_rows
from bot.settings import Settings
from bot.terminal import Screen

_LOADING: Final = "trying the parts, one after the other"


async def run_checks(settings: Settings, env_file: Path = ENV_FILE) -> int:
    """Print each row as soon as it is known; 0 when none failed, else 1."""
    screen = Screen(out=sys.stdout, interactive=sys.stdout.isatty())
    good = True
    async with screen.waiting(_LOADING), aclosing(_rows(settings, env_file)) as rows:
        async for row in rows:
            good = good and row.state is not State.FAILED
            screen.line(str(row))
    screen.line("Everything a start needs is there." if good else "Mend what FAILED, then check again.")
    return 0 if good else 1


async def _rows(settings: Settings, env_file: Path) -> AsyncGenerator[Row]:
    for row in simple_rows(settings, env_file=env_file):
        yield row
    async with aclosing(_local_rows(settings)) as local:
        async for row in local:
            yield row
    yield await _model_row(settings)
    if settings.own_background:
        yield await _background_row(settings)
    for number, fallback in enumerate(settings.llm_fallbacks, start=1):
        yield await _fallback_row(settings, fallback, number)


async def _local_rows(settings: Settings) -> AsyncGenerator[Row]:
    """Database, index and embedding model: what lies on this machine."""
    try:
        encoder = encoder_of(settings)
    except TroupeError as problem:
        yield failed("embedding model", str(problem))
        return
    async with encoder, aclosing(_data_rows(settings, encoder)) as rows:
        async for row in rows:
            yield row
        yield await encoder_row(encoder, _more_of(settings, encoder.id))


def _more_of(settings: Settings, encoder_id: str) -> str:
    """Who reads feelings from its vectors, and where texts go if they leave this machine."""
    host = settings.embedding_host
    away = f"; texts that are remembered or searched for go to {host}" if host else ""
    try:
        return f"; {who_reads(encoder_id, settings.data_dir)}{away}"
    except HeadFileError as problem:
        return f"; {problem}{away}"


async def _data_rows(settings: Settings, encoder: AnyEncoder) -> AsyncGenerator[Row]:
    """The database and the index; left alone while a running bot owns them."""
    async with AsyncExitStack() as stack:
        try:
            stack.enter_context(owned(settings.data_dir))
        except AlreadyOwned:
            yield ok("database", "in use by a running bot; `/settings show` tells how it is")
            return
        except TroupeError as problem:
            yield failed("database", str(problem))
            return
        try:
            store = await stack.enter_async_context(open_store(settings.data_dir / DATABASE))
            rows = database_rows(await store.describe())
        except TroupeError as problem:
            rows = [failed("database", str(problem))]
        for row in rows:
            yield row
        yield await _index_row(settings, encoder)


async def _index_row(settings: Settings, encoder: AnyEncoder) -> Row:
    path = settings.data_dir / INDEX
    try:
        async with LanceIndex.open(path, encoder_id=encoder.id, dimensions=encoder.dimensions) as index:
            return index_row(damaged=await index.is_damaged(), new=index.is_new, path=path)
    except TroupeError as problem:
        return failed("search index", str(problem))


async def _model_row(settings: Settings) -> Row:
    if not settings.bundled_model:
        return await _server_row(settings.llm_base_url or "", settings.llm_api_key, settings.llm_model or "")
    try:
        async with LocalModel() as local:
            model = OpenAIChatModel(
                base_url=local.base_url, api_key="none", model=local.name, quirks=BUNDLED_QUIRKS
            )
            return await _tried(model)
    except TroupeError as problem:
        return failed("language model", str(problem))


async def _background_row(settings: Settings) -> Row:
    row = await _server_row(
        settings.llm_background_base_url or settings.llm_base_url or "",
        settings.background_key,
        settings.llm_background_model or settings.llm_model or "",
    )
    return Row("background model", row.state, row.text)


async def _fallback_row(settings: Settings, fallback: Fallback, number: int) -> Row:
    """A model behind the first that does not answer keeps no bot from starting."""
    row = await _server_row(fallback.address or settings.llm_base_url or "", fallback.key, fallback.model)
    state = State.WARNING if row.state is State.FAILED else row.state
    return Row(f"fallback {number}", state, row.text)


async def _server_row(address: str, key: SecretStr | None, name: str) -> Row:
    return await _tried(
        OpenAIChatModel(base_url=address, api_key=key.get_secret_value() if key else "none", model=name)
    )


async def _tried(model: OpenAIChatModel) -> Row:
    try:
        return await model_row(model)
    finally:
        await model.aclose()
