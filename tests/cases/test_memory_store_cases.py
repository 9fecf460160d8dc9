"""Field cases C38–C41: another embedding model, two writers, quotes in names, growth of the index."""

from __future__ import annotations

import asyncio
import re
import time
from datetime import timedelta
from pathlib import Path

import lancedb
import pytest

import bot.serving
from bot.core.events import snowflake
from bot.core.types import Place
from bot.data_lock import AlreadyOwned
from bot.errors import TroupeError
from tests.cases.in_process import InProcess, InstantEncoder, feast, lay, running, unbounded
from tests.cases.notes import fill
from tests.discord_server import Channel
from tests.e2e.bot_process import Table, eventually, notes, plain


async def test_c38_another_embedding_model_is_noticed_and_nothing_lost(tmp_path: Path) -> None:
    async with running(tmp_path, encoder=InstantEncoder(384, "small:384"), context_tokens=2048) as play:
        table = await lay(play, "Tavern")
        inn, anna = await feast(table)
        play.model.set_script("reply", plain)
        await anna.say(inn, "My grandmother hid a ruby under the old mill.")
        await fill(anna, inn, 30, "The caravan came over the hills with silk and copper and many tales, day")
        kept = "SELECT count(*) FROM memories"
        await eventually(lambda: play.stored(kept) == [(31,)], "all lines")
        await play.indexed()
        await play.down()
        play.encoder = InstantEncoder(768, "large:768")
        await play.up()
        await table.talk(anna, inn, "Mira, where is the ruby under the old mill?", "Mira")  # at once
        assert any("large:768" in line and "is built" in line for line in play.log)
        sizes = ("small:384 (384 numbers a text)", "large:768 (768)")
        assert any(all(size in line for size in sizes) for line in play.log)
        await play.indexed()
        assert play.stored(kept)[0][0] >= 31
        await table.talk(anna, inn, "Mira, and my grandmother's ruby?", "Mira")
        assert "ruby under the old mill" in table.prompts()[-1].text
        assert "large:768 is ready" in await table.use("settings show", inn)
        await play.down()
        assert await _sizes(tmp_path) == {768}
        play.check()


async def _sizes(folder: Path) -> set[int]:
    """The lengths of the vectors in every table of the index."""
    database = await lancedb.connect_async(folder / "lancedb")
    found = set()
    for name in (await database.list_tables()).tables:
        schema = await (await database.open_table(name)).schema()
        found |= {
            one.type.list_size for one in schema if hasattr(one.type, "list_size") and one.type.list_size > 8
        }
    return found


async def _rooms(play: InProcess, table: Table, count: int) -> list[Channel]:
    """Channels with a scene in each, one persona for all."""
    engine = play.app.troupe
    mira = await engine.personas.create(table.guild.id, name="Mira", description="An innkeeper.")
    rooms = [play.discord.add_channel(table.guild, f"room-{number}") for number in range(count)]
    for room in rooms:
        place = Place(room.id, table.guild.id, room.name)
        after = snowflake(play.clock()) - (1 << 22)
        await engine.scenes.start(place, name="Feast", persona_id=mira.id, after=after)
    return rooms


async def _index_ids(folder: Path) -> list[int]:
    database = await lancedb.connect_async(folder / "lancedb")
    ids: list[int] = []
    for name in (await database.list_tables()).tables:
        rows = await (await database.open_table(name)).query().select(["memory_id", "part"]).to_list()
        ids += [row["memory_id"] for row in rows if row["part"] == 0]
    return ids


async def test_c39_fifty_rooms_at_once_leave_each_memory_once(tmp_path: Path) -> None:
    async with running(tmp_path) as play:
        table = await lay(play, "Tavern")
        anna = table.member("Anna")
        await unbounded(play, table)
        rooms = await _rooms(play, table, 50)
        for number in range(3):
            await asyncio.gather(*(anna.say(room, f"Mira, number {number}!") for room in rooms))
        said = "SELECT count(*) FROM turns WHERE text LIKE 'Mira, number%'"
        await eventually(lambda: play.stored(said) == [(150,)], "all lines", 30)
        await eventually(lambda: all(table.spoken(room) for room in rooms), "an answer in each room", 40)
        await play.app.troupe.delivery.quiet([room.id for room in rooms], 10)
        found = await table.use("memory search", rooms[7], query="number 2")
        number = found.partition("`")[2].partition("`")[0]
        await asyncio.gather(
            table.use("memory forget", rooms[7], memory=number),
            *(anna.say(room, "One more.") for room in rooms),
        )
        more = "SELECT count(*) FROM turns WHERE text = 'One more.'"
        await eventually(lambda: play.stored(more) == [(50,)], "the last lines", 30)
        await play.indexed(40)
        await play.app.troupe.close()
        stored = [row[0] for row in play.stored("SELECT id FROM memories")]
        assert int(number) not in stored
        await play.down()
        ids = await _index_ids(tmp_path)
        assert len(ids) == len(set(ids))
        assert set(stored) <= set(ids)
        assert int(number) not in ids


async def test_c39_a_second_bot_on_one_folder_refuses_to_start(tmp_path: Path) -> None:
    async with running(tmp_path) as play:
        table = await lay(play, "Tavern")
        inn, anna = await feast(table)
        app, client = play.app, play.client
        with pytest.raises(TroupeError) as told:
            await bot.serving.serve(play.make_settings())
        assert isinstance(told.value, AlreadyOwned)
        assert str(tmp_path) in str(told.value)
        play._app, play._client = app, client
        await table.talk(anna, inn, "Mira, still here?", "Mira")


async def test_c40_quotes_in_names_break_and_widen_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as play:
        table = await lay(play, "D'Artagnan's \"den\"; DROP TABLE turns")
        inn, anna = await feast(table, persona="D'Artagnan", channel="o'inn")
        crafted = table.member("x' OR 1=1 --")
        await fill(anna, inn, 100, 'A line of Anna\'s, with 100% "quotes" and a \\ in it, number')
        await crafted.say(inn, "I am the crafted one's only line.")
        said = await anna.say(inn, "D'Artagnan, hello to 'you'!")
        await table.stage.discord.wait_for_message(inn, lambda one: one.id > said.id and one.webhook_id)
        await play.indexed(30)
        for query in ("100% 'quotes'", 'the "quotes" \\ here', "x' OR 1=1 --", "%", "_", "';--", "\\"):
            assert "went wrong" not in await table.use("memory search", inn, query=query)
        assert "D'Artagnan" in await table.use("persona show", inn, persona="D'Artagnan")
        asked = await crafted.slash("privacy forget-me", inn)
        question = await asked.answer()
        erased = await crafted.click(question, "Erase everything")
        await erased.answer(30)
        rows = "SELECT count(*) FROM turns WHERE text LIKE 'A line of Anna%'"
        assert play.stored(rows) == [(100,)]
        assert not play.stored("SELECT 1 FROM turns WHERE text LIKE '%crafted one%'")
        await play.indexed(30)
        assert "A line of Anna's" in await table.use("memory search", inn, query="A line of Anna, number 50")
        play.check()
        await play.down()
        kept = {row[0] for row in play.stored("SELECT id FROM memories WHERE kind = 'turn'")}
        assert kept <= set(await _index_ids(tmp_path))


async def test_c41_the_index_stays_near_the_size_of_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written in small steps is put in order by itself: here sooner than in earnest, where versions
    of the last minutes stay, and 150 writes come before a merge.
    """
    monkeypatch.setattr("bot.engine.indexing.GATHER_SECONDS", 0.0)
    monkeypatch.setattr("bot.adapters.lance_index.MERGE_AFTER", 40)
    monkeypatch.setattr("bot.adapters.lance_table._HORIZON", timedelta(seconds=1))
    async with running(tmp_path, context_tokens=2048) as play:
        table = await lay(play, "Tavern")
        anna = table.member("Anna")
        rooms = await _rooms(play, table, 50)
        count = 720
        said = "SELECT count(*) FROM turns WHERE text LIKE 'Memory %'"
        for number in range(count):
            await anna.say(rooms[number % 50], f"Memory {number} tells of house {number * 7} in the valley.")
            if number % 12 == 11:
                await eventually(lambda number=number: play.stored(said) == [(number + 1,)], "the lines")
                await play.indexed()
        files = [path for path in (tmp_path / "lancedb").rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        data = count * 4 * (384 + 8 + 16)
        assert size < 8 * data
        assert len(files) < 200, "old versions go with every merge"
        seconds = []
        for number in range(3):
            began = time.monotonic()
            await table.talk(anna, rooms[3], f"Mira, which house is in valley {number}?", "Mira")
            seconds.append(time.monotonic() - began)
        assert min(seconds) < 3
        shown = await table.use("settings show", rooms[3])
        assert "memories wait" in shown
        assert re.search(r"disk: \d+ MB used, \d+ of them by the search index; [\d,]+ MB are free", shown)
        assert notes(table.prompts()[-1])
