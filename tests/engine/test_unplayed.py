"""Places without a scene: who addresses a persona is told once how to begin, and nothing is kept."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from tests.engine.stage import BOB, CELLAR, TAVERN, RealClock, Stage, open_stage


async def noticed(stage: Stage) -> list[str]:
    """The notices given once everything that was said has been looked at."""
    async with asyncio.timeout(30):
        while stage.troupe.unplayed.busy:
            await asyncio.sleep(0.005)
    await stage.notices_out()
    return [text for _, text in stage.messenger.notices]


@pytest.mark.parametrize("text", ["Good evening, Mira!", "What do you say, Vale?", "Vale, hm."])
async def test_who_names_a_persona_is_told_once_a_day_how_to_begin(tmp_path: Path, text: str) -> None:
    clock = RealClock()
    async with open_stage(tmp_path, clock=clock) as stage:
        await stage.persona("Mira Vale")
        await stage.persona("Vale")
        stage.say(text)
        (told,) = await noticed(stage)
        assert "/scene start" in told
        clock.ahead = timedelta(hours=20)
        stage.say(text, by=BOB)
        assert len(await noticed(stage)) == 1
        clock.ahead = timedelta(hours=25)
        stage.say(text, by=BOB)
        assert len(await noticed(stage)) == 2
        assert (await stage.store.describe())["turns"] == 0


async def test_a_reply_to_what_a_persona_said_is_told_after_the_scene(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": ["Good evening."]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("Hello, Mira.")
        await stage.quiet()
        (message_id,) = (await stage.window())[-1].message_ids or list(stage.messenger.arrived.values())
        await stage.troupe.scenes.pause(TAVERN)
        stage.say("And then?", reply_to=message_id)
        assert [text for text in await noticed(stage) if "/scene resume" in text]
        await stage.troupe.scenes.end(TAVERN)
        stage.say("And then?", reply_to=message_id)
        assert [text for text in await noticed(stage) if "/scene start" in text]


@pytest.mark.parametrize(
    "text", ["I am at home.", "((Mira is a good name))", "// Mira", "mirage", "will you?"]
)
async def test_talk_among_members_is_left_alone(tmp_path: Path, text: str) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.persona()
        await stage.persona("Will")
        stage.say(text)
        assert await noticed(stage) == []


@pytest.mark.parametrize("mode", ["mention", "off"])
async def test_where_names_call_nobody_they_get_no_notice(tmp_path: Path, mode: str) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.persona()
        await stage.troupe.options.set(TAVERN.space_id, 0, "reply_mode", mode)
        stage.say("Mira?")
        assert await noticed(stage) == []
        stage.say("Mira?", mention=True)
        assert len(await noticed(stage)) == 1


async def test_each_place_is_told_by_itself(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.persona()
        for place in (TAVERN, CELLAR, TAVERN, CELLAR):
            stage.say("Mira?", place=place)
            await noticed(stage)
        assert [place for place, _ in stage.messenger.notices] == [TAVERN.id, CELLAR.id]
