"""What long-term memory brings back with the bundled embedding model and the real search index."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.embedder import ThreadedEncoder, make_encoder
from bot.adapters.lance_index import LanceIndex
from bot.core.types import MemoryKind
from bot.engine import indexing
from tests.engine.real_stage import SMALL_TALK, notes
from tests.engine.stage import BOB, TAVERN, Stage, open_stage
from tests.fakes import Prompt


@pytest.fixture(autouse=True)
def hurried_indexer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)


@pytest.fixture
async def encoder() -> AsyncIterator[ThreadedEncoder]:
    async with make_encoder("bundled", threads=1) as one:
        await one.load()
        yield one


@asynccontextmanager
async def true_stage(folder: Path, encoder: ThreadedEncoder, **options: object) -> AsyncIterator[Stage]:
    """The whole engine with the real encoder and index; only Discord and the model are played."""
    async with (
        LanceIndex.open(folder / "index", encoder_id=encoder.id, dimensions=encoder.dimensions) as index,
        open_stage(folder, index=index, encoder=encoder, context_tokens=1200, **options) as stage,
    ):
        yield stage


async def settled(stage: Stage, encoder: ThreadedEncoder) -> None:
    """Everything said is noted and indexed."""
    async with asyncio.timeout(50):
        while stage.troupe.summariser.waiting >= 10 or stage.troupe.summariser.busy:
            await asyncio.sleep(0.02)
        while await stage.store.memories.count_to_index(encoder.id):
            await asyncio.sleep(0.02)


async def chatter(stage: Stage, rounds: int) -> None:
    for number in range(rounds):
        for line in SMALL_TALK:
            stage.say(f"{line} ({number})", by=BOB)
    await stage.quiet()


async def last_notes(stage: Stage) -> str:
    """What the last prompt showed as remembered."""
    content = stage.model.of("reply")[-1].messages[-1].content
    return content[content.rfind("<notes>") : content.rfind("</notes>")]


@pytest.mark.parametrize("triggered", [True, False])
async def test_a_remark_recalls_an_old_remark_by_its_trigger(
    tmp_path: Path, encoder: ThreadedEncoder, triggered: bool
) -> None:
    """The remark shares no word and little meaning with what it should bring back."""
    first = notes(
        triggers=[{"text": "somebody offers or bakes a cake with almonds", "turns": [1]}] if triggered else []
    )
    scripts = {"memory": [first, *[notes()] * 30]}
    async with true_stage(tmp_path, encoder, script=scripts) as stage:
        await stage.scene(await stage.persona())
        stage.say("My sister stopped breathing at that wedding, and we were glad the healer stood near.")
        await chatter(stage, 12)
        await settled(stage, encoder)
        stage.say("Mira, I baked you an almond cake this morning.")
        await stage.quiet()
        assert ("stopped breathing" in await last_notes(stage)) is triggered


def fact(text: str, about: str = "Alice", **more: object) -> dict[str, object]:
    return {"about": about, "kind": "person", "text": text, "turns": [1], "when": "", **more}


def replacing_storm(prompt: Prompt) -> str:
    """A background answer that reads the number of the older fact off the prompt."""
    text = prompt.messages[-1].content
    if "new horse" not in text:
        return notes()
    number = next(line.split(":")[0] for line in text.split("\n") if line.endswith("horse is called Storm."))
    turn = next(line for line in text.split("\n") if "My new horse" in line).split("]")[0].strip("[")
    ember = fact("Alice's horse is called Ember; Storm died.", replaces=[int(number)], turns=[int(turn)])
    return notes(facts=[ember])


async def test_c36_the_newer_fact_wins_and_the_older_says_until_when(
    tmp_path: Path, encoder: ThreadedEncoder
) -> None:
    def remember(prompt: Prompt) -> str:
        if "my horse is called Storm" in prompt.messages[-1].content:
            return notes(facts=[fact("Alice's horse is called Storm.")])
        return replacing_storm(prompt)

    async with true_stage(tmp_path, encoder, script={"memory": remember}) as stage:
        await stage.scene(await stage.persona())
        stage.say("By the way, my horse is called Storm.", created_at=stage.clock() - timedelta(days=9))
        await chatter(stage, 2)
        await settled(stage, encoder)
        death = stage.say("Storm died. My new horse is Ember.", created_at=stage.clock() - timedelta(days=4))
        await chatter(stage, 9)
        await settled(stage, encoder)
        stage.say("Mira, please saddle my horse.")
        await stage.quiet()
        shown = [line for line in (await last_notes(stage)).split("\n") if "Alice's horse is called" in line]
        assert [line.split(" is called ")[1] for line in shown] == ["Storm.", "Ember; Storm died."]
        assert "[earlier, until 4 days ago]" in shown[0]
        assert "earlier" not in shown[1]
        turns = [line for line in (await last_notes(stage)).split("\n") if "my horse is called Storm" in line]
        assert len(turns) == 1, "the words themselves are recalled too"
        assert turns[0].startswith("- [earlier, until 4 days ago] 9 days ago"), turns
        found = await stage.troupe.memories.search(TAVERN, "Alice's horse is called Storm")
        marks = {one.memory.text: one.earlier for one in found if one.memory.kind is MemoryKind.FACT}
        assert marks == {
            "Alice's horse is called Storm.": "earlier, until 4 days ago",
            "Alice's horse is called Ember; Storm died.": "",
        }
        stage.delete(death)
        await stage.quiet()
        (again,) = await stage.troupe.memories.search(TAVERN, "Alice's horse is called Storm", limit=1)
        assert (again.memory.text, again.earlier) == ("Alice's horse is called Storm.", "")


async def test_who_never_heard_the_newer_still_holds_the_older_for_true(
    tmp_path: Path, encoder: ThreadedEncoder
) -> None:
    def remember(prompt: Prompt) -> str:
        if "my horse is called Storm" in prompt.messages[-1].content:
            return notes(facts=[fact("Alice's horse is called Storm.")])
        return replacing_storm(prompt)

    async with true_stage(tmp_path, encoder, script={"memory": remember}) as stage:
        mira, tom = await stage.persona(), await stage.persona("Tom")
        await stage.scene(mira, tom)
        stage.say("By the way, my horse is called Storm.")
        await chatter(stage, 1)
        await settled(stage, encoder)
        await stage.troupe.scenes.cast_remove(TAVERN, tom.id)
        stage.say("Storm died. My new horse is Ember.")
        await chatter(stage, 9)
        await settled(stage, encoder)
        await stage.troupe.scenes.cast_add(TAVERN, tom.id)
        stage.say("Tom, please saddle my horse.")
        await stage.quiet()
        shown = await last_notes(stage)
        assert "Alice's horse is called Storm." in shown
        assert "earlier" not in shown
        assert "Ember" not in shown
