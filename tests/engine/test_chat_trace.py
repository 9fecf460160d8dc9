"""A long, untidy group chat played back as events (input I15): what is kept, shown and recalled of it."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.core.types import MemoryKind, TurnKind
from bot.engine import indexing
from tests.engine.stage import TAVERN, Stage, open_stage
from tests.records import newest_turns

LINES = 300
SPEAKERS = {201: "Alex", 202: "Ａlex", 203: "박서준", 204: "ليلى", 205: "Zoé 🦊"}
RENAMED = {203: "Seo-jun 🌙", 205: "Alex"}
"""From the middle on: one gets another script, one a third time the same name."""
SAYINGS = (
    "The rain will not stop, and my boots are wet {n}.",
    "https://example.org/map?id={n}&x=1#harbour look at this",
    "😂😂👩‍👩‍👧‍👦 {n} 🏳️‍🌈",
    "나는 강가에서 {n}번째 배를 보았다.",
    "黒猫が{n}匹、屋根の上にいる。",
    "رأيت السفينة رقم {n} في الميناء \u202bليلا\u202c",
    "שלום, ראיתי {n} ספינות",
    "**bold** ||spoiler {n}|| `code` > quote\n> second line\n\n- third",
    "Alex: I never said that {n}",
    "{{char}} {{user}} </notes> <|im_end|> {n}",
)
KEPT = "The silver ferry sank at Candlemas with forty bells aboard."
BEFORE = "The brass astrolabe lies under the third stair."
AFTER = "The brass astrolabe lies behind the tower clock."
GONE = "Goldfinch is the password of the smugglers."


@pytest.fixture(autouse=True)
def hurried_indexer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)
    monkeypatch.setattr(indexing, "PATIENCE_SECONDS", 0.05)


@dataclass
class Trace:
    """What was said and still stands: message id to who and what."""

    standing: dict[int, tuple[int, str]] = field(default_factory=dict)
    edited: int = 0
    deleted: int = 0


def line(number: int, chance: random.Random) -> str:
    """The words of one message."""
    planted = {12: KEPT, 20: BEFORE, 28: GONE}
    if number in planted:
        return planted[number]
    if number % 50 == 0:
        return f"{number} " + "длинная история о реке " * 180
    return chance.choice(SAYINGS).format(n=number)


def play(stage: Stage, trace: Trace, numbers: range, *, after_the_middle: bool) -> None:
    """Post the lines; of the older ones some are edited and some deleted meanwhile."""
    chance = random.Random(numbers.start)
    names = {**SPEAKERS, **RENAMED} if after_the_middle else SPEAKERS
    for number in numbers:
        speaker = list(SPEAKERS)[chance.randrange(len(SPEAKERS))]
        text = line(number, chance)[:4000]
        message = stage.say(text, by=speaker, author_name=names[speaker])
        trace.standing[message] = (speaker, text)
        if number % 11 == 0:
            older, (who, said) = chance.choice(list(trace.standing.items()))
            if said not in (KEPT, BEFORE, GONE):
                trace.standing[older] = (who, f"{said[:3900]} (corrected in {number})")
                stage.edit(older, trace.standing[older][1])
                trace.edited += 1
        if number % 13 == 0:
            older = chance.choice(list(trace.standing))
            if trace.standing[older][1] not in (KEPT, BEFORE, GONE):
                del trace.standing[older]
                stage.delete(older)
                trace.deleted += 1


async def indexed(stage: Stage) -> None:
    async with asyncio.timeout(30):
        while await stage.store.memories.count_to_index(stage.encoder.id):
            await asyncio.sleep(0.01)


async def asked(stage: Stage, text: str) -> str:
    """The whole prompt of the reply to this question, without the question."""
    stage.say(text, by=201, author_name="Alex")
    await stage.quiet()
    return stage.model.of("reply")[-1].text.replace(text, "")


async def test_i15_a_group_chat_of_300_lines_is_kept_and_recalled_as_it_stands(tmp_path: Path) -> None:
    trace = Trace()
    async with open_stage(tmp_path, context_tokens=4096) as stage:
        await stage.scene(await stage.persona())
        play(stage, trace, range(1, LINES // 2), after_the_middle=False)
        await stage.quiet(within=30)
        by_text = {said: message for message, (_, said) in trace.standing.items()}
        stage.edit(by_text[BEFORE], AFTER)
        trace.standing[by_text[BEFORE]] = (trace.standing[by_text[BEFORE]][0], AFTER)
        stage.delete(by_text[GONE])
        del trace.standing[by_text[GONE]]
        play(stage, trace, range(LINES // 2, LINES + 1), after_the_middle=True)
        await stage.quiet(within=30)
        assert trace.edited > 20
        assert trace.deleted > 15

        kept = [
            turn for turn in await newest_turns(stage.store, 1, 1000) if turn.kind is TurnKind.IN_CHARACTER
        ]
        kept.sort(key=lambda turn: turn.id)
        assert [(turn.owner_id, turn.text) for turn in kept] == list(trace.standing.values())
        assert max(len(turn.text) for turn in kept) == 4000
        memories = await stage.store.memories.of_story(1, limit=1000)
        told = {one.turn_id: one.text for one in memories if one.kind is MemoryKind.TURN}
        assert told == {turn.id: turn.text for turn in kept}

        await indexed(stage)
        await check_recall(stage)
        prompt = stage.model.of("reply")[-1].text
        labels = {"Ａlex:", "Alex (2):", "Alex (3):", "Seo-jun 🌙:", "ليلى:"}
        assert {label for label in labels if f"\n{label}" in prompt} == labels
    async with open_stage(
        tmp_path, messenger=stage.messenger, index=stage.index, context_tokens=4096
    ) as stage:
        await check_recall(stage)


async def check_recall(stage: Stage) -> None:
    """What stands comes to mind; what was edited or deleted never does."""
    found = await asked(stage, "Mira, what of the silver ferry and its bells at Candlemas?")
    assert f"Alex (2): {KEPT}" in found  # the second of three with this name
    found = await asked(stage, "Mira, where does the brass astrolabe lie?")
    assert AFTER in found
    assert BEFORE not in found
    assert GONE not in await asked(stage, "Mira, what is the password of the smugglers, Goldfinch?")
    gone = await stage.troupe.memories.search(TAVERN, "goldfinch password smugglers")
    assert all(GONE not in hit.memory.text for hit in gone)
