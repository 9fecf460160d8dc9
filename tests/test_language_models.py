"""The models of the settings, put together: a server that is down, others behind it, the way back, prices."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import bot.check
from bot.adapters.sql_store import open_store
from bot.core.chat import ChatMessage
from bot.core.spending import Price
from bot.engine.model_chain import ModelChain
from bot.language_models import LanguageModels
from bot.settings import Settings
from tests.cases.in_process import feast, lay, running
from tests.cases.notes import fill, noted, notes_json
from tests.connected import eventually
from tests.model_server import Fail, ModelServer, Say

NOBODY = "http://127.0.0.1:9/v1"


async def test_the_next_server_answers_while_the_first_is_down(tmp_path: Path) -> None:
    async with running(tmp_path, start=False) as play:
        play.settings = {
            "llm_base_url": NOBODY,
            "llm_model": "big",
            "llm_fallbacks": f"small {play.model.url}",
        }
        await play.up()
        table = await lay(play, "Tavern")
        inn, anna = await feast(table)
        reply = await table.talk(anna, inn, "Mira, hello!", "Mira")
        assert reply.content
        assert table.prompts()[-1].body["model"] == "small"
        assert "secret" not in str(table.prompts()[-1].headers), "a key goes to no other server"
        await eventually(lambda: play.stored("SELECT 1 FROM explanations"), 30.0)
        asked = await table.moderator.context_menu("Why this reply?", reply)
        assert "small, because big was down" in (await asked.answer(30)).content
        shown = await table.use("settings show", inn)
        assert "small answers" in shown
        play.check()


async def test_a_model_at_the_same_server_takes_over_and_the_notes_are_written(tmp_path: Path) -> None:
    """The first model is overloaded, also for background work; another one of the same server is not."""
    async with running(tmp_path, start=False, llm_fallbacks="small") as play:
        busy = Fail(503, {"error": {"message": "overloaded"}}, {"Retry-After": "60"})
        await play.up()
        table = await lay(play, "Tavern")
        inn, anna = await feast(table)
        play.model.set_script(
            "*", lambda one: busy if one.body["model"] == play.model.model else Say("Well then.")
        )
        play.model.script.pop("reply")
        await table.talk(anna, inn, "Mira, hello!", "Mira")
        models = [one.body["model"] for one in table.prompts()]
        assert models == [play.model.model, "small"], "one that says it needs a minute is not waited for"
        play.model.set_script(
            "memory",
            lambda one: (
                busy if one.body["model"] == play.model.model else Say(notes_json(one, text="It rains."))
            ),
        )
        await fill(anna, inn)
        await noted(table, inn, "It rains.")
        assert table.prompts(purpose="memory")[-1].body["model"] == "small"
        play.check()


HELLO = [ChatMessage("user", "Alice: Hello!")]


async def test_each_behind_the_first_has_its_own_address_and_key_and_all_lead_back(tmp_path: Path) -> None:
    async with (
        ModelServer(model="big") as big,
        ModelServer(model="middle") as middle,
        ModelServer(model="small") as small,
        open_store(tmp_path / "test.sqlite3") as store,
        AsyncExitStack() as stack,
    ):
        settings = Settings.load(
            {
                "DATA_DIR": str(tmp_path),
                "LLM_BASE_URL": big.url,
                "LLM_MODEL": "big",
                "LLM_API_KEY": "sk-of-big",
                "LLM_FALLBACKS": f"middle {middle.url}/ MIDDLE_KEY; small {small.url}/chat/completions; last",
                "MIDDLE_KEY": "sk-of-middle",
            },
            None,
        )
        down = Fail(503, headers={"Retry-After": "3600"})
        models = await LanguageModels.open(settings, store, stack)
        chain = models.replies
        assert isinstance(chain, ModelChain)

        async def answered() -> str:
            return (await chain.complete(HELLO, purpose="reply", max_tokens=20)).model

        assert await answered() == "big"
        big.set_script("*", lambda one: down if one.body["model"] == "big" else Say("Here."))
        assert await answered() == "middle"
        middle.set_script("*", down)
        assert await answered() == "small"
        small.set_script("*", down)
        assert await answered() == "last"
        assert [one.headers.get("authorization") for one in middle.requests] == ["Bearer sk-of-middle"] * 3
        assert "sk-of" not in str([dict(one.headers) for one in small.requests])
        assert {one.headers["authorization"] for one in big.requests} == {"Bearer sk-of-big"}
        for _ in range(3):  # now all three are left alone
            assert await answered() == "last"
        waiting = len(big.requests), len(middle.requests), len(small.requests)
        assert await answered() == "last"
        assert (len(big.requests), len(middle.requests), len(small.requests)) == (
            waiting[0] + 1,
            *waiting[1:],
        )
        assert [line.ok for line in models.lines()] == [False, False, False, True]
        for server in (big, middle, small):
            server.script.clear()
        for link in chain._links:
            link.breaker.next_trial = 0.0  # their rest is over
        assert await answered() == "last", "nobody waits for the trials"
        await eventually(lambda: not chain._jobs.busy, 10.0)
        assert await answered() == "big"
        assert [line.ok for line in models.lines()] == [True]


async def test_what_stands_behind_replies_and_notes_is_told_once(tmp_path: Path) -> None:
    settings = Settings(
        llm_base_url=NOBODY,
        llm_model="big",
        llm_background_model="cheap",
        llm_fallbacks="small; last",
        context_tokens=4096,
    )
    async with open_store(tmp_path / "test.sqlite3") as store, AsyncExitStack() as stack:
        models = await LanguageModels.open(settings, store, stack)
        assert [line.text for line in models.lines()] == ["small, then last would answer instead"]
        for chain in (models.replies, models.background):
            assert isinstance(chain, ModelChain)
            for link in chain._links:
                link.breaker.failed(0.0, for_long=True)
        names = [line.text.partition(" ")[0] for line in models.lines()]
        assert names == ["big", "small", "last", "cheap"]


async def test_the_self_check_tries_each_of_them(
    tmp_path: Path, model_server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(
        data_dir=tmp_path,
        llm_base_url=model_server.url,
        llm_model="scripted",
        llm_fallbacks=f"small; far {NOBODY}",
    )
    rows = [str(await bot.check._fallback_row(settings, one, 1)) for one in settings.llm_fallbacks]
    assert rows[0].startswith("ok       fallback 1       small answered")
    assert rows[1].startswith("warning  fallback 1       No connection")


async def test_the_cheaper_model_prices_and_ceilings_are_those_of_the_settings(tmp_path: Path) -> None:
    settings = Settings(
        llm_base_url=NOBODY,
        llm_model="big",
        llm_cheap_model="small",
        llm_price_input=3,
        llm_price_output=15,
        llm_cheap_price_output=0.5,
        daily_cost=2.5,
        monthly_tokens=1000,
        context_tokens=4096,
        currency="€",
    )
    async with open_store(tmp_path / "test.sqlite3") as store, AsyncExitStack() as stack:
        spending = (await LanguageModels.open(settings, store, stack)).spending
        plain = settings.model_copy(update={"llm_cheap_model": None})
        without = (await LanguageModels.open(plain, store, stack)).spending
    assert spending.cheap is not None
    assert (spending.cheap.model.name, spending.cheap.price) == ("small", Price(3, 0.5))
    assert (spending.price, spending.background_price) == (Price(3, 15), Price(3, 15))
    assert [limit.most for limit in spending.ceilings] == [1000, 2_500_000]
    assert (spending.currency, spending.priced, without.cheap) == ("€", True, None)
