"""Models in order: who answers while the first is down, who is left alone, and the way back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.core.breaker import Breaker, BreakerRules
from bot.core.chat import ChatMessage, Completion
from bot.engine.model_chain import Link, ModelChain
from bot.errors import (
    ContextOverflow,
    EmptyReply,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
)
from tests.engine.stage import TAVERN, open_stage
from tests.fakes import ChatAnswer, ScriptedChatModel

HELLO = [ChatMessage("user", "Alice: Hello!")]
DOWN = ModelUnavailable("No connection to the language model.")
RULES = BreakerRules(failures=2, slow=20.0, first_wait=10.0, longest_wait=60.0)


class NamedModel(ScriptedChatModel):
    """A scripted model with a name, whose `state` is what every call ends in; an error or an answer."""

    def __init__(self, name: str, *, state: ChatAnswer = "Here I am.", context: int | None = None) -> None:
        super().__init__({"*": lambda _: self.state}, context=context)
        self._name = name
        self.state = state

    @property
    def name(self) -> str:
        return self._name


class Clock:
    """Seconds that a test pushes forward."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def chained(*models: NamedModel) -> AsyncIterator[tuple[ModelChain, Clock]]:
    clock = Clock()
    chain = ModelChain([Link(one, one.name, Breaker(RULES)) for one in models], clock=clock)
    try:
        yield chain, clock
    finally:
        await chain.aclose()


async def ask(chain: ModelChain, purpose: str = "reply") -> Completion:
    return await chain.complete(HELLO, purpose=purpose, max_tokens=20)


async def settled(chain: ModelChain) -> None:
    """Whatever the chain tries by itself has ended."""
    async with asyncio.timeout(30):
        while chain._jobs.busy:
            await asyncio.sleep(0)


@pytest.mark.parametrize("purpose", ["reply", "memory"])
@pytest.mark.parametrize("problem", [DOWN, ModelMisconfigured("The key was refused.")])
async def test_the_next_answers_while_the_first_is_down(problem: ModelError, purpose: str) -> None:
    async with chained(NamedModel("big", state=problem), NamedModel("small")) as (chain, _):
        completion = await ask(chain, purpose)
    assert (completion.text, completion.model, completion.instead_of) == ("Here I am.", "small", "big")


async def test_the_first_answers_for_itself_as_long_as_it_can() -> None:
    first, second = NamedModel("big"), NamedModel("small")
    async with chained(first, second) as (chain, _):
        completion = await ask(chain)
        assert (completion.model, completion.instead_of, chain.name) == ("big", "", "big")
        assert [line.text for line in chain.lines()] == ["small would answer instead"]
    assert not second.prompts


@pytest.mark.parametrize(
    "problem", [ModelRefused("no"), ContextOverflow("long", limit=99), EmptyReply("nothing")]
)
async def test_what_every_model_would_say_is_not_asked_of_another(problem: ModelError) -> None:
    first, second = NamedModel("big", state=problem), NamedModel("small")
    async with chained(first, second) as (chain, _):
        for _ in range(4):
            with pytest.raises(type(problem)):
                await ask(chain)
        assert chain.name == "big", "and it does not count as being down"
    assert not second.prompts


async def test_one_that_stays_down_is_left_alone() -> None:
    first, second = NamedModel("big", state=DOWN), NamedModel("small")
    async with chained(first, second) as (chain, clock):
        for _ in range(5):
            assert (await ask(chain)).model == "small"
        assert len(first.prompts) == RULES.failures
        assert chain.name == "small"
        clock.now = 3.0
        assert [(line.ok, line.text) for line in chain.lines()] == [
            (False, "big is down (does not respond); tried again in 7 s"),
            (True, "small answers instead"),
        ]


async def test_one_whose_settings_are_wrong_is_left_alone_at_once() -> None:
    first = NamedModel("big", state=ModelMisconfigured("The key was refused."))
    async with chained(first, NamedModel("small")) as (chain, _):
        for _ in range(3):
            await ask(chain)
        assert "misconfigured" in chain.lines()[0].text
    assert len(first.prompts) == 1


async def test_no_call_waits_for_the_trial_that_leads_the_way_back() -> None:
    first = NamedModel("big", state=DOWN)
    async with chained(first, NamedModel("small")) as (chain, clock):
        for _ in range(2):
            await ask(chain)
        first.state, clock.now = "Yes.", 10.0
        first.gate = asyncio.Event()
        for _ in range(3):
            assert (await ask(chain)).model == "small"
        assert [prompt.purpose for prompt in first.prompts] == ["reply", "reply", "trial"], "one trial only"
        first.gate.set()
        await settled(chain)
        completion = await ask(chain)
    assert (completion.model, completion.instead_of) == ("big", "")


async def test_trials_that_fail_come_less_and_less_often() -> None:
    first = NamedModel("big", state=DOWN)
    async with chained(first, NamedModel("small")) as (chain, clock):
        trials = []
        for second in range(200):
            clock.now = float(second)
            before = len(first.prompts)
            await ask(chain)
            await settled(chain)
            trials += [second] if len(first.prompts) > before else []
    assert trials == [0, 1, 11, 31, 71, 131, 191]


@pytest.mark.parametrize("state", ["", ModelRefused("no")])
async def test_a_trial_needs_no_words_to_show_that_the_model_is_up(state: ChatAnswer) -> None:
    first = NamedModel("big", state=DOWN)
    async with chained(first, NamedModel("small")) as (chain, clock):
        for _ in range(2):
            await ask(chain)
        first.state, clock.now = state, 10.0
        await ask(chain)
        await settled(chain)
        assert chain.name == "big"


async def test_when_all_are_down_each_is_asked_again_and_the_first_says_why() -> None:
    first, second = NamedModel("big", state=DOWN), NamedModel("small", state=ModelUnavailable("busy"))
    async with chained(first, second) as (chain, _):
        for _ in range(4):
            with pytest.raises(ModelUnavailable, match="No connection"):
                await ask(chain)
        assert [line.ok for line in chain.lines()] == [False, False]
        second.state = "Back."
        assert (await ask(chain)).text == "Back."
        assert chain.name == "small"


async def test_a_prompt_made_for_a_bigger_model_is_not_sent_to_a_smaller() -> None:
    small = NamedModel("small", context=10)
    async with chained(NamedModel("big", state=DOWN), small) as (chain, _):
        with pytest.raises(ContextOverflow) as caught:
            await ask(chain)
    assert (caught.value.limit, caught.value.model) == (10, "small")
    assert not small.prompts


async def test_a_call_that_is_cancelled_teaches_nothing() -> None:
    first = NamedModel("big")
    first.gate = asyncio.Event()
    async with chained(first, NamedModel("small")) as (chain, _):
        call = asyncio.create_task(ask(chain))
        await first.asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert chain.name == "big"


async def test_two_chains_share_what_they_learn_of_a_model() -> None:
    shared = Link(NamedModel("small", state=DOWN), "small", Breaker(RULES))
    last = Link(NamedModel("last"), "last")
    one = ModelChain([Link(NamedModel("a", state=DOWN), "a", Breaker(RULES)), shared, last])
    other = ModelChain([Link(NamedModel("b", state=DOWN), "b", Breaker(RULES)), shared, last])
    for chain in (one, one, other):
        assert (await ask(chain)).model == "last"
    assert isinstance(shared.model, NamedModel)
    assert len(shared.model.prompts) == RULES.failures
    await one.aclose()
    await other.aclose()


def test_a_chain_of_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="needs a model"):
        ModelChain([])


async def test_members_get_their_answer_and_the_notes_are_written_meanwhile(tmp_path: Path) -> None:
    """Through the real engine: a smaller model behind one that is down; prompts are cut to what it takes."""
    first, second = NamedModel("big", state=DOWN), NamedModel("small", context=1500)
    second.script = {"reply": lambda prompt: f"Yes, {len(second.prompts)} times."}
    async with (
        chained(first, second) as (chain, _),
        open_stage(tmp_path, chat=chain, background=chain, model_lines=chain.lines) as stage,
    ):
        mira = await stage.persona(description="An innkeeper. " + "She knows many tales. " * 20)
        await stage.scene(mira)
        for number in range(12):
            stage.say(f"I tell of day {number}, " + "when the caravan brought saffron. " * 12)
        stage.say("Mira, and then?")
        await stage.quiet()
        stage.say("Mira, really?")
        await stage.quiet()
        assert len(stage.messenger.texts()) == 2
        assert not stage.messenger.notices
        lines = {line.text for line in await stage.troupe.health()}
        assert {"small answers", "small answers instead"} <= lines
        why = await stage.troupe.explainer.why(TAVERN, list(stage.messenger.arrived.values())[-1])
        async with asyncio.timeout(30):
            while not second.of("memory"):
                await asyncio.sleep(0.01)
    assert (why.body["model"], why.body["instead_of"]) == ("small", "big")
