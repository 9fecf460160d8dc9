"""Forgetting in a running engine: real database, real index, real ledger; nothing of the member is left."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import lancedb
import pytest

from bot.adapters.lance_index import LanceIndex
from bot.adapters.privacy_ledger import open_ledger
from bot.core.events import MessagePosted
from bot.core.types import Place
from bot.engine import indexing
from tests.engine.gates import Held
from tests.engine.stage import ALICE, BOB, NAMES, TAVERN, FakeMessenger, RealClock, Stage, open_stage
from tests.fakes import ChatScript, Prompt

ZAN = 919293949596979899
NAME, ALIAS, MARK = "Zanzibar", "The Quiet Fox", "xyzzyplugh"
DIRECT = Place(id=808182838485868788, guild_id=0, name="direct messages")
MARKS = (NAME, ALIAS, MARK, "quiet-fox.png", str(ZAN), "Zephyrine")


@pytest.fixture(autouse=True)
def hurried_indexer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)
    monkeypatch.setitem(NAMES, ZAN, NAME)


@asynccontextmanager
async def stage_in(
    folder: Path, script: dict[str, ChatScript] | None = None, **parts: object
) -> AsyncIterator[Stage]:
    """An engine whose every store is the real one, in this folder."""
    async with LanceIndex.open(folder / "lancedb", encoder_id="hash:384", dimensions=384) as index:
        values = {"index": index, "ledger": open_ledger(folder), **parts}
        async with open_stage(folder, script, **values) as stage:  # type: ignore[arg-type]
            yield stage


def notes(prompt: Prompt) -> str:
    """Notes of the first turn by the member and the second by another."""
    return json.dumps(
        {
            "keep": [],
            "lines": [
                {"section": "events", "text": f"{NAME} hid {MARK}.", "turns": [1]},
                {"section": "people", "text": "Bob sings.", "turns": [2]},
            ],
            "facts": [
                {"about": NAME, "text": f"{NAME} owns {MARK}.", "turns": [1], "when": ""},
                {"about": "Bob", "text": f"Bob trusts {NAME.upper()}.", "turns": [2], "when": ""},
                {"about": "Bob", "text": "Bob sings well.", "turns": [2], "when": ""},
            ],
            "triggers": [],
            "emotions": [{"turn": 1, "scores": [1, 2, 6, 3, 8, 1, 2, 4]}],
        }
    )


async def settled(stage: Stage) -> None:
    """Everything is noted and indexed."""
    async with asyncio.timeout(20):
        while stage.troupe.summariser.waiting or stage.troupe.summariser.busy:
            await asyncio.sleep(0.01)
    await indexed(stage)


async def indexed(stage: Stage) -> None:
    """Every memory has its key."""
    async with asyncio.timeout(20):
        while await stage.store.memories.count_to_index(stage.encoder.id):
            await asyncio.sleep(0.01)


async def play(stage: Stage) -> list[str]:
    """A scene and a direct message with the marked member in everything; what was embedded of them."""
    await stage.scene(await stage.persona())
    stage.say(f"I hid {MARK} in the well.", by=ZAN)
    for song in range(8):
        stage.say(f"A song of {song} bottles.", by=BOB)
    stage.say(f"Did you see {NAME}?", by=BOB)
    await stage.quiet()
    await stage.troupe.aliases.use(TAVERN, ZAN, ALIAS, avatar_url="https://example.org/quiet-fox.png")
    stage.say(f"Mira, remember {MARK} for me!", by=ZAN)
    await stage.quiet()
    friend = await stage.troupe.personas.create(DIRECT.space_id, name="Zephyrine", by=ZAN)
    await stage.scene(friend, place=DIRECT)
    stage.say("Only you and I.", by=ZAN, place=DIRECT, mention=True)
    await stage.quiet(DIRECT)
    stage.clock.ahead += timedelta(minutes=6)
    for _, (place_id, scene_id, count) in enumerate(await stage.store.turns.waiting()):
        place = await stage.store.scenes.place(place_id)
        assert place is not None
        stage.troupe.summariser.note(place, scene_id, count)
    await settled(stage)
    return [text for text in stage.encoder.passages if any(mark in text for mark in MARKS)]


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file there is."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()


async def live_rows(folder: Path) -> set[int]:
    """The memory ids in every version of every table of the index."""
    connection = await lancedb.connect_async(str(folder / "lancedb"))
    found: set[int] = set()
    for name in (await connection.list_tables()).tables:
        table = await connection.open_table(name)
        for version in await table.list_versions():
            await table.checkout(version["version"])
            rows = await table.query().select(["memory_id"]).to_arrow()
            found.update(rows["memory_id"].to_pylist())
    return found


def answer(prompt: Prompt) -> str:
    """Names the member and says the secret again."""
    return f"Of course, {NAME}: {MARK} it is, and {ALIAS} is welcome in my house."


async def test_after_forget_me_no_row_vector_text_or_name_is_left_in_any_file(tmp_path: Path) -> None:
    async with stage_in(tmp_path, {"memory": notes, "reply": answer}) as stage:
        embedded = await play(stage)
        assert len(embedded) >= 5
        vectors = [stage.encoder.vectors([text])[0].tobytes() for text in embedded]
        before = b"".join(content for _, content in contents(tmp_path / "lancedb"))
        assert any(vector in before for vector in vectors)
        ids = {
            memory.id
            for memory in await stage.store.memories.of_story(1)
            if any(mark in f"{memory.speaker} {memory.text} {memory.owner_ids}" for mark in MARKS)
        }
        assert ids <= await live_rows(tmp_path)

        owned = await stage.troupe.privacy.forget(ZAN)

        assert (owned.turns, owned.aliases) == (3, 1)
        assert (await stage.troupe.privacy.owned(ZAN)).nothing
        for path, content in contents(tmp_path):
            for mark in MARKS:
                assert mark.encode() not in content, (mark, path.name)
            assert NAME.upper().encode() not in content, path.name
            assert all(vector not in content for vector in vectors), path.name
        await indexed(stage)
        left = {memory.id: memory.text for memory in await stage.store.memories.of_story(1)}
        assert await live_rows(tmp_path) == left.keys()
        assert "Did you see somebody?" in left.values()
        assert "Bob sings well." in left.values()
        assert "A song of 3 bottles." in left.values()
        assert not any(MARK in turn.text or turn.owner_id == ZAN for turn in await stage.window())


async def test_the_next_prompt_knows_nothing_of_a_forgotten_member(tmp_path: Path) -> None:
    async with stage_in(tmp_path, {"memory": notes, "reply": answer}) as stage:
        await play(stage)
        await stage.troupe.privacy.forget(ZAN)
        before = stage.clock()
        stage.say("Mira, who hid something in the well? Where is the fox?", by=BOB)
        await stage.quiet()
        prompt = stage.model.of("reply")[-1].text
        assert "A song of" in prompt
        for mark in MARKS:
            assert mark not in prompt
        found = await stage.troupe.memories.search(TAVERN, f"{MARK} {NAME}")
        assert all(MARK not in one.memory.text or one.memory.created_at > before for one in found)


async def test_the_embedding_model_keeps_nothing_that_was_asked(tmp_path: Path) -> None:
    async with stage_in(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say(f"Mira, what is {MARK}?", by=ZAN)
        await stage.quiet()
        await stage.troupe.privacy.forget(ZAN)
        assert stage.encoder.forgotten == 1


async def test_a_prompt_in_flight_is_given_up_and_the_others_are_still_answered(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with stage_in(tmp_path, {"reply": ["One moment, please, dear guest."]}) as stage:
        await stage.scene(await stage.persona())
        stage.model.gate = gate
        stage.say(f"My word is {MARK}.", by=ZAN)
        stage.say("Mira, good evening!", by=BOB)
        await stage.model.asked.wait()
        assert MARK in stage.model.prompts[0].text
        forgetting = asyncio.ensure_future(stage.troupe.privacy.forget(ZAN))
        await asyncio.wait([forgetting], timeout=20)
        await forgetting
        gate.set()
        await stage.quiet()
        assert stage.model.cancelled >= 1
        assert MARK not in stage.model.of("reply")[-1].text
        assert len(stage.messenger.texts()) == 1


async def test_a_place_that_wakes_while_a_member_is_forgotten_tells_no_model_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage_in(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say(f"My word is {MARK}.", by=ZAN)
        await stage.quiet()
    async with stage_in(tmp_path, messenger=stage.messenger, start=False) as stage:
        stage.model.gate = asyncio.Event()
        erasing = Held(monkeypatch, stage.store.privacy, "erase", before=True)
        forgetting = asyncio.create_task(stage.troupe.privacy.forget(ZAN))
        await erasing.reached()
        stage.say("Mira, what do you know?", by=BOB)
        await stage.troupe.journal.flushed()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.3):
                await stage.model.asked.wait()
        erasing.go.set()
        await forgetting
        stage.model.gate.set()
        await stage.quiet()
        assert [prompt for prompt in stage.model.prompts if MARK in prompt.text] == []
        assert len(stage.messenger.texts()) == 1


async def test_notes_in_the_making_are_given_up_and_made_without_the_member(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with stage_in(tmp_path, {"memory": notes}) as stage:
        await stage.scene(await stage.persona())
        stage.model.gate = gate
        stage.say(f"My word is {MARK}.", by=ZAN)
        for song in range(10):
            stage.say(f"A song of {song} bottles.", by=BOB)
        await stage.model.asked.wait()
        await stage.troupe.privacy.forget(ZAN)
        gate.set()
        await settled(stage)
        first, *later = stage.model.of("memory")
        assert MARK in first.text
        assert later
        assert all(MARK not in prompt.text for prompt in later)
        assert stage.model.cancelled >= 1


async def test_what_is_heard_meanwhile_or_read_again_later_is_not_stored(tmp_path: Path) -> None:
    messenger = FakeMessenger(clock := RealClock())
    async with stage_in(tmp_path, messenger=messenger, clock=clock) as stage:
        await stage.scene(await stage.persona())
        old = stage.say(f"Old {MARK}.", by=ZAN)
        await stage.quiet()
        forgetting = asyncio.ensure_future(stage.troupe.privacy.forget(ZAN))
        await asyncio.sleep(0)
        stage.say(f"While it runs {MARK}.", by=ZAN)
        await forgetting
        event = MessagePosted(
            TAVERN, old, ZAN, NAME, f"Old {MARK}.", clock() - timedelta(hours=1), backfilled=True
        )
        messenger.past = [event]
        await stage.troupe.catch_up(clock() - timedelta(hours=2))
        assert (await stage.troupe.privacy.owned(ZAN)).nothing
        stage.say("I am back.", by=ZAN)
        await stage.quiet()
        assert (await stage.troupe.privacy.owned(ZAN)).turns == 1


async def test_a_backup_put_back_does_not_bring_a_forgotten_member_back(tmp_path: Path) -> None:
    async with stage_in(tmp_path, {"memory": notes}) as stage:
        await play(stage)
        await stage.store.truncate_wal()
        backup = (tmp_path / "test.sqlite3").read_bytes()
        await stage.troupe.privacy.forget(ZAN)
    (tmp_path / "test.sqlite3").write_bytes(backup)
    async with stage_in(tmp_path) as stage:
        assert (await stage.troupe.privacy.owned(ZAN)).nothing
        assert not any(MARK in turn.text for turn in await stage.window())
    for path, content in contents(tmp_path):
        assert all(mark.encode() not in content for mark in MARKS), path.name


async def test_an_erasure_that_was_cut_short_is_done_at_the_next_start(tmp_path: Path) -> None:
    async with stage_in(tmp_path, {"memory": notes}) as stage:
        await play(stage)
        await open_ledger(tmp_path).erased(ZAN, at=stage.clock())
    async with stage_in(tmp_path) as stage:
        assert (await stage.troupe.privacy.owned(ZAN)).nothing
        assert await stage.store.privacy.applied() > 0


async def test_it_goes_on_when_the_one_who_asked_is_gone_and_waits_its_turn(tmp_path: Path) -> None:
    async with stage_in(tmp_path, {"memory": notes}) as stage:
        await play(stage)
        asked = asyncio.ensure_future(stage.troupe.privacy.forget(ZAN))
        await asyncio.sleep(0)
        asked.cancel()
        steps: list[str] = []
        assert (await stage.troupe.privacy.forget(ZAN, progress=steps.append)).nothing
        assert len(steps) == 2
        assert await stage.troupe.privacy.forget(ALICE) == await stage.troupe.privacy.owned(ALICE)


async def test_a_direct_message_is_forgotten_as_a_whole_and_can_begin_anew(tmp_path: Path) -> None:
    async with stage_in(tmp_path) as stage:
        friend = await stage.troupe.personas.create(DIRECT.space_id, name="Zephyrine", by=ZAN)
        await stage.scene(friend, place=DIRECT)
        await stage.troupe.privacy.forget(ZAN, direct_id=DIRECT.id)
        assert not stage.troupe.is_live(DIRECT.id)
        assert await stage.troupe.personas.all(DIRECT.space_id) == []
        again = await stage.troupe.personas.create(DIRECT.space_id, name="Zephyrine", by=ZAN)
        await stage.scene(again, place=DIRECT)
        stage.say("Hello?", by=ZAN, place=DIRECT, mention=True)
        await stage.quiet(DIRECT)
        assert stage.messenger.texts(DIRECT)


async def test_those_who_keep_names_elsewhere_are_told(tmp_path: Path) -> None:
    async with stage_in(tmp_path) as stage:
        told: list[int] = []
        stage.troupe.privacy.on_forgotten(told.append)
        await stage.troupe.privacy.forget(ZAN)
        assert told == [ZAN]


async def test_a_name_that_is_heard_while_its_member_is_forgotten_is_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage_in(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say(f"Mira, what is {MARK}?", by=ZAN)
        await stage.quiet()
        names: set[int] = {ZAN}
        stage.troupe.privacy.on_forgotten(names.discard)
        writing = Held(monkeypatch, stage.index, "rewrite", before=True)
        forgetting = asyncio.create_task(stage.troupe.privacy.forget(ZAN))
        await writing.reached()
        names.add(ZAN)
        writing.go.set()
        await forgetting
        assert names == set()


async def test_a_purged_server_is_gone_and_stays_gone(tmp_path: Path) -> None:
    async with stage_in(tmp_path, {"memory": notes}) as stage:
        await play(stage)
        await stage.store.truncate_wal()
        backup = (tmp_path / "test.sqlite3").read_bytes()
        assert await stage.troupe.privacy.purge(TAVERN.space_id) > 9
        assert not stage.troupe.is_live(TAVERN.id)
        assert stage.troupe.is_live(DIRECT.id)
        assert all(b"bottles" not in content for _, content in contents(tmp_path))
        stage.say("Anybody?", by=BOB)
        assert await stage.troupe.personas.all(TAVERN.space_id) == []
    (tmp_path / "test.sqlite3").write_bytes(backup)
    async with stage_in(tmp_path):
        assert all(b"bottles" not in content for _, content in contents(tmp_path))
