"""Field cases C24–C27: servers that take less than others. What is learned of one takes a bot of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cases.in_process import InProcess, feast, lay, running
from tests.cases.notes import fill, noted, notes_json
from tests.e2e.bot_process import Table, eventually, plain, window
from tests.model_server import Fail, Refusal, Say


@asynccontextmanager
async def tavern(
    folder: Path, *refuses: Refusal, wording: int = 0, **settings: object
) -> AsyncIterator[Table]:
    """A bot of its own, at a server that refuses these."""
    async with running(folder, start=False, **settings) as play:
        play.model.refuses = dict.fromkeys(refuses, wording)
        play.model.set_script("reply", plain)
        await play.up()
        yield await lay(play, "Tavern")
        play.check()


@pytest.mark.parametrize("told", [True, False])
async def test_c24_two_hundred_long_turns_fit_a_small_context(tmp_path: Path, told: bool) -> None:
    """The server tells its context, or our settings believe in far more and its refusals teach us."""
    async with running(tmp_path, start=False, context_tokens=None if told else 32_768) as play:
        play.model.context = 4096
        if not told:
            play.model.pages["/v1/models"] = {"object": "list", "data": []}
        play.model.set_script("reply", plain)
        await play.up()
        table = await lay(play, "Tavern")
        inn, anna = await feast(table, description="An innkeeper. " + "She knows many tales. " * 80)
        for number in range(200):
            line = f"Line {number}: " + f"the caravan brings saffron and silk for day {number}, " * 12
            if number % 20 == 19:
                await table.talk(anna, inn, f"Mira, question {number}? {line}", "Mira")
                prompt = table.prompts()[-1]
                assert f"Mira, question {number}?" in window(prompt)
                assert "She knows many tales." in prompt.text
            else:
                await anna.say(inn, line)
        assert len(table.spoken(inn)) == 10
        assert "cannot" not in "".join(one.content for one in table.stage.discord.messages(inn))
        refused = [one for one in table.prompts() if one.refused]
        assert not refused if told else len(refused) <= 4
        play.check()


@pytest.mark.parametrize("vendor", ["llama.cpp", "vllm", "lm-studio", "mistral", "ollama"])
async def test_c24_each_vendors_words_for_it_are_understood(tmp_path: Path, vendor: str) -> None:
    async with tavern(tmp_path, context_tokens=16_384) as table:
        inn, anna = await feast(table)
        await fill(anna, inn, 40, "The caravan brings saffron and silk and many a long tale on day " * 4)
        table.stage.model.context, table.stage.model.overflow_vendor = 2048, vendor
        reply = await table.talk(anna, inn, "Mira, what is new?", "Mira")
        assert reply.content
        assert "what is new?" in window(table.prompts()[-1])
        first, *others = [one.refused for one in table.prompts("what is new?")]
        assert first, "the prompt was too long at first"
        assert others[-1:] == [False]
        before = len(table.prompts())
        await table.talk(anna, inn, "Mira, and what else?", "Mira")
        again = [one.refused for one in table.prompts()[before:]]
        assert again.count(False) == 1
        assert again.count(True) <= (vendor == "ollama"), "its size is known from then on, where it was told"


async def test_c24_a_persona_that_is_too_big_is_reported_at_import(tmp_path: Path) -> None:
    async with tavern(tmp_path, context_tokens=2048) as table:
        inn = table.channel()
        card = (
            '{"spec": "chara_card_v2", "data": {"name": "Tolstoy", "description": "'
            + "He tells of war and of peace. " * 1000
            + '"}}'
        )
        told = await table.use("persona import", inn, card=("big.json", card.encode()))
        assert "Tolstoy" in told
        assert "context" in told


_ORDER = ["Welcome, friends.", "Anna: I sit down.", "Bob: I stand.", "Anna: Mira, some soup!"]


async def _group_talk(table: Table) -> None:
    """Greeting, Anna, Bob, Anna, persona: order and speakers stay in whatever form is sent."""
    inn, anna = await feast(table, greeting="Welcome, friends.")
    bob = table.member("Bob")
    await anna.say(inn, "I sit down.")
    await bob.say(inn, "I stand.")
    await table.talk(anna, inn, "Mira, some soup!", "Mira")
    prompt = table.prompts()[-1]
    places = [prompt.text.index(line) for line in _ORDER]
    assert places == sorted(places)
    assert not prompt.refused


@pytest.mark.parametrize("wording", [0, 1])
@pytest.mark.parametrize(
    "refuses",
    [
        (Refusal.ALTERNATION,),
        (Refusal.SYSTEM,),
        (Refusal.ALTERNATION, Refusal.SYSTEM),
        (Refusal.SECOND_SYSTEM,),
    ],
)
async def test_c25_strict_servers_get_what_they_take(
    tmp_path: Path, refuses: tuple[Refusal, ...], wording: int
) -> None:
    async with tavern(tmp_path, *refuses, wording=wording) as table:
        await _group_talk(table)
        prompt = table.prompts()[-1]
        roles = [role for role, _ in prompt.messages]
        if Refusal.ALTERNATION in refuses:
            turns = roles[1:] if roles[0] == "system" else roles
            assert turns[0] == "user"
            assert all(one != after for one, after in pairwise(turns))
        if Refusal.SYSTEM in refuses:
            assert "system" not in roles
        inn, anna = table.channel(), table.member("Caro")
        shown = await table.use("settings show", inn)
        assert ("takes user and assistant in turns only" in shown) is (Refusal.ALTERNATION in refuses)
        assert ("takes no system message" in shown) is (Refusal.SYSTEM in refuses)
        play: InProcess = table.stage  # type: ignore[assignment]
        await play.app.troupe.journal.flushed()
        await play.again()  # what was learned is remembered
        before = len(table.prompts())
        await table.talk(anna, inn, "Mira, good night!", "Mira")
        assert [one.refused for one in table.prompts()[before:]] == [False]


async def test_c26_speakers_stand_in_the_text_and_no_name_is_sent(tmp_path: Path) -> None:
    async with tavern(tmp_path, Refusal.NAME) as table:
        inn, anna = await feast(table)
        bob = table.member("Bob")
        await bob.say(inn, "Hello, everybody.")
        await table.talk(anna, inn, "Mira, who said hello?", "Mira")
        (prompt,) = table.prompts()
        assert "Bob: Hello, everybody." in window(prompt)
        assert "Anna: Mira, who said hello?" in window(prompt)
        assert not any("name" in message for message in prompt.body["messages"])


def _nothing_left(refuses: tuple[Refusal, ...]) -> bool:
    """Whether a server takes no wish for JSON at all."""
    return Refusal.RESPONSE_FORMAT in refuses or {Refusal.JSON_OBJECT, Refusal.JSON_SCHEMA} <= set(refuses)


@pytest.mark.parametrize(
    "refuses",
    [
        (Refusal.JSON_OBJECT,),
        (Refusal.JSON_SCHEMA,),
        (Refusal.RESPONSE_FORMAT,),
        (Refusal.JSON_OBJECT, Refusal.JSON_SCHEMA),
        (),
    ],
)
async def test_c27_without_a_response_format_memory_goes_on(
    tmp_path: Path, refuses: tuple[Refusal, ...]
) -> None:
    async with tavern(tmp_path, *refuses) as table:
        inn, anna = await feast(table)
        table.stage.model.set_script(
            "memory", lambda one: Say(f"Gladly.\n```json\n{notes_json(one, text='Anna is at ease.')}\n```")
        )
        await fill(anna, inn, 10)
        await noted(table, inn, "Anna is at ease.")
        await fill(anna, inn, 10, "And more, number")
        felt = "SELECT count(*) FROM memories WHERE kind = 'turn' AND emotion_source = 'model:scripted'"
        await eventually(lambda: table.stage.stored(felt)[0][0] >= 20, "feelings of 20 turns")
        assert table.stage.stored("SELECT count(*) > 0 FROM memories WHERE kind = 'fact'") == [(1,)]
        await table.talk(anna, inn, "Mira, hello!", "Mira")
        asked = table.prompts(purpose="memory")
        answered = [one for one in asked if not one.refused]
        assert len(answered) >= 2
        assert not any(one.refused for one in asked if one.number > answered[0].number)
        shown = await table.use("settings show", inn)
        assert ("works without response_format" in shown) is (_nothing_left(refuses))
        assert ("gives JSON without a schema" in shown) is (refuses == (Refusal.JSON_SCHEMA,))


async def test_c27_a_server_that_refuses_everything_optional_still_talks(tmp_path: Path) -> None:
    kinds = [
        Refusal.STOP,
        Refusal.TEMPERATURE,
        Refusal.STREAM_OPTIONS,
        Refusal.RESPONSE_FORMAT,
        Refusal.ALTERNATION,
    ]
    async with tavern(tmp_path, *kinds) as table:
        inn, anna = await feast(table)
        await table.talk(anna, inn, "Mira, hello!", "Mira")
        await table.talk(anna, inn, "Mira, again!", "Mira")
        assert not table.prompts()[-1].refused
        shown = await table.use("settings show", inn)
        assert "works without stream_options, temperature" in shown
        table.stage.model.set_script("reply", lambda _: Fail(422, {"error": {"message": "no"}}))
        await anna.say(inn, "Mira, and this?")
        await table.note(inn, "cannot answer")
