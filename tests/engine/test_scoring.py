"""The paper's way of scoring feelings: what a failing model leaves undone is asked again, some times."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from bot.engine import summarising
from bot.errors import ModelUnavailable
from tests.engine.gates import Held
from tests.engine.stage import BOB, Stage, open_stage
from tests.fakes import Prompt

SCORES = [1, 2, 6, 3, 9, 1, 2, 4]


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summarising, "FIRST_RETRY", timedelta(milliseconds=20))


def notes(_: Prompt) -> str:
    line = {"section": "events", "text": "They drank wine.", "turns": [1]}
    return json.dumps({"keep": [], "lines": [line], "facts": [], "triggers": [], "emotions": []})


def scored(prompt: Prompt) -> str:
    numbers = re.findall(r"^\[(\d+)\]", prompt.messages[-1].content, re.MULTILINE)
    return json.dumps({"texts": [{"turn": int(one), "reason": "grief", "scores": SCORES} for one in numbers]})


async def drink(stage: Stage) -> None:
    for number in range(10):
        stage.say(f"The {number}th cup of wine is poured.", by=BOB)
    await stage.quiet()


async def until_asked(stage: Stage, times: int) -> None:
    async with asyncio.timeout(30):
        while len(stage.model.of("emotion")) < times or stage.troupe.summariser.busy:
            await asyncio.sleep(0.005)


async def felt(stage: Stage) -> list[str | None]:
    return [memory.emotion_source for memory in await stage.store.memories.of_story(1) if memory.turn_id]


@pytest.mark.parametrize("trouble", [ModelUnavailable("The model is down."), "I would rather not."])
async def test_a_call_that_fails_is_made_again(tmp_path: Path, trouble: str | Exception) -> None:
    tries = 0

    def scoring(prompt: Prompt) -> str:
        nonlocal tries
        tries += 1
        if tries < 3:
            if isinstance(trouble, Exception):
                raise trouble
            return trouble
        return scored(prompt)

    async with open_stage(tmp_path, {"memory": notes, "emotion": scoring}, score_emotions=True) as stage:
        await stage.scene(await stage.persona())
        await drink(stage)
        await until_asked(stage, 3)
        assert await felt(stage) == ["model:scripted"] * 10
        assert stage.troupe.summariser.failure == ""
        assert len(stage.model.of("memory")) == 1


async def test_it_is_given_up_in_the_end_and_the_next_turns_are_asked_about(tmp_path: Path) -> None:
    down = True

    def scoring(prompt: Prompt) -> str:
        if down:
            raise ModelUnavailable("The model is down.")
        return scored(prompt)

    async with open_stage(tmp_path, {"memory": notes, "emotion": scoring}, score_emotions=True) as stage:
        await stage.scene(await stage.persona())
        await drink(stage)
        await until_asked(stage, summarising.MOST_SCORINGS)
        async with asyncio.timeout(30):
            while stage.troupe.summariser._due:
                await asyncio.sleep(0.005)
        assert len(stage.model.of("emotion")) == summarising.MOST_SCORINGS
        down = False
        await drink(stage)
        await until_asked(stage, summarising.MOST_SCORINGS + 1)
        assert await felt(stage) == [None] * 10 + ["model:scripted"] * 10


async def test_what_was_deleted_meanwhile_is_not_asked_about(tmp_path: Path) -> None:
    down = True

    def scoring(prompt: Prompt) -> str:
        if down:
            raise ModelUnavailable("The model is down.")
        return scored(prompt)

    async with open_stage(tmp_path, {"memory": notes, "emotion": scoring}, score_emotions=True) as stage:
        await stage.scene(await stage.persona())
        secret = stage.say("Bartholomew is a parrot.", by=BOB)
        await drink(stage)
        await until_asked(stage, 1)
        stage.delete(secret)
        await stage.troupe.journal.flushed()
        asked = len(stage.model.of("emotion"))
        down = False
        await until_asked(stage, asked + 1)
        assert "Bartholomew" not in stage.model.of("emotion")[-1].text


async def test_what_a_turn_said_before_it_was_edited_is_not_felt_in_its_new_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stage(tmp_path, {"memory": notes, "emotion": scored}, score_emotions=True) as stage:
        await stage.scene(await stage.persona())
        storing = Held(monkeypatch, stage.store.memories, "set_emotions", before=True)
        first = stage.say("Everybody weeps.", by=BOB)
        await drink(stage)
        await storing.reached()
        stage.edit(first, "Everybody laughs.")
        await stage.troupe.journal.flushed()
        storing.go.set()
        await until_asked(stage, 1)
        sources = await felt(stage)
        assert sources[0] is None
        assert sources.count("model:scripted") == 10
