"""The models of the settings, put together: a server that is down, others behind it, the way back, prices."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import bot.check
from bot.adapters.sql_store import open_store
from bot.core.spending import Price
from bot.language_models import LanguageModels
from bot.settings import Settings
from tests.cases.in_process import feast, lay, running
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
        play.check()


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
