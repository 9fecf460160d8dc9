"""What long-term memory brings back with the bundled embedding model and the real search index."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.types import MemoryKind
from tests.engine.real_stage import chatter, notes, real_stage, recalled
from tests.engine.stage import TAVERN
from tests.fakes import Prompt

pytestmark = pytest.mark.usefixtures("hurried_indexer")


@pytest.mark.parametrize("triggered", [True, False])
async def test_a_remark_recalls_an_old_remark_by_its_trigger(tmp_path: Path, triggered: bool) -> None:
    """The remark shares no word and little meaning with what it should bring back."""
    first = notes(
        triggers=[{"text": "somebody offers or bakes a cake with almonds", "turns": [1]}] if triggered else []
    )
    scripts = {"memory": [first, *[notes()] * 30]}
    async with real_stage(tmp_path, scorer=None, script=scripts) as stage:
        await stage.scene(await stage.persona())
        stage.say("My sister stopped breathing at that wedding, and we were glad the healer stood near.")
        await chatter(stage, 12)
        shown = await recalled(stage, "Mira, I baked you an almond cake this morning.")
        assert ("stopped breathing" in shown) is triggered


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


async def test_c36_the_newer_fact_wins_and_the_older_says_until_when(tmp_path: Path) -> None:
    def remember(prompt: Prompt) -> str:
        if "my horse is called Storm" in prompt.messages[-1].content:
            return notes(facts=[fact("Alice's horse is called Storm.")])
        return replacing_storm(prompt)

    async with real_stage(tmp_path, scorer=None, script={"memory": remember}) as stage:
        await stage.scene(await stage.persona())
        stage.say("By the way, my horse is called Storm.", created_at=stage.clock() - timedelta(days=9))
        await chatter(stage, 2)
        death = stage.say("Storm died. My new horse is Ember.", created_at=stage.clock() - timedelta(days=4))
        await chatter(stage, 9)
        lines = (await recalled(stage, "Mira, please saddle my horse.")).split("\n")
        shown = [line for line in lines if "Alice's horse is called" in line]
        assert [line.split(" is called ")[1] for line in shown] == ["Storm.", "Ember; Storm died."]
        assert "[earlier, until 4 days ago]" in shown[0]
        assert "earlier" not in shown[1]
        turns = [line for line in lines if "my horse is called Storm" in line]
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


async def test_who_never_heard_the_newer_still_holds_the_older_for_true(tmp_path: Path) -> None:
    def remember(prompt: Prompt) -> str:
        if "my horse is called Storm" in prompt.messages[-1].content:
            return notes(facts=[fact("Alice's horse is called Storm.")])
        return replacing_storm(prompt)

    async with real_stage(tmp_path, scorer=None, script={"memory": remember}) as stage:
        mira, tom = await stage.persona(), await stage.persona("Tom")
        await stage.scene(mira, tom)
        stage.say("By the way, my horse is called Storm.")
        await chatter(stage, 1)
        await stage.troupe.scenes.cast_remove(TAVERN, tom.id)
        stage.say("Storm died. My new horse is Ember.")
        await chatter(stage, 9)
        await stage.troupe.scenes.cast_add(TAVERN, tom.id)
        shown = await recalled(stage, "Tom, please saddle my horse.")
        assert "Alice's horse is called Storm." in shown
        assert "earlier" not in shown
        assert "Ember" not in shown
