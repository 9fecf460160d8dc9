"""As a limit comes near: a notice, a shorter prompt, the cheaper model, one tired line, silence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.chat import Completion
from bot.core.spending import Entry, GroupBy, Payer, Price, Spent, ceilings
from bot.core.trust import Surroundings
from bot.core.types import Persona, Place
from bot.engine.paid_calls import Spending, Tier
from bot.errors import DeliveryError, ModelUnavailable, StorageError
from tests.engine.stage import ALICE, BOB, CELLAR, TAVERN, RealClock, Stage, open_stage
from tests.fakes import ScriptedChatModel

LIMIT = 1_000_000
UPDATES = Place(id=223456789012345678, guild_id=9, name="updates")
LOG = Place(id=123456789012345678, guild_id=9, name="log")


class KnownChannels:
    """Every channel of the guild is known."""

    def about(self, place: Place) -> Surroundings:
        return Surroundings(known=place.id == LOG.id)

    def for_moderators(self, guild_id: int) -> int:
        return UPDATES.id


@asynccontextmanager
async def limited(
    folder: Path, *, key: str = "daily_tokens", limit: object = LIMIT, **parts: object
) -> AsyncIterator[tuple[Stage, Persona]]:
    """A scene in a server with a limit."""
    async with open_stage(folder, **parts) as stage:  # type: ignore[arg-type]
        await stage.troupe.options.set(TAVERN.space_id, 0, key, str(limit))
        persona = await stage.persona()
        await stage.scene(persona)
        yield stage, persona


async def use(stage: Stage, share: float, *, persona_id: int = 0, member_id: int = ALICE) -> None:
    """Have so much of the limit be used already."""
    payer = Payer(TAVERN.space_id, TAVERN.id, (member_id,), persona_id)
    spent = Spent(1, round(LIMIT * share), 0, round(LIMIT * share))
    await stage.store.usage.add([Entry(payer, stage.clock().date(), spent)])


async def ask(stage: Stage, text: str = "Mira?", *, by: int = ALICE, place: Place = TAVERN) -> None:
    stage.say(text, by=by, place=place)
    await stage.quiet(place)
    await stage.notices_out()


def warnings(stage: Stage) -> list[int]:
    """Where moderators were told."""
    return [place_id for place_id, text in stage.messenger.notices if "For moderators" in text]


async def test_below_eighty_percent_nothing_changes(tmp_path: Path) -> None:
    async with limited(tmp_path) as (stage, _):
        await use(stage, 0.79)
        await ask(stage)
        assert len(stage.messenger.texts()) == 1
        assert stage.messenger.notices == []


async def test_at_eighty_percent_moderators_are_told_once_also_after_a_restart(tmp_path: Path) -> None:
    async with limited(tmp_path) as (stage, _):
        await use(stage, 0.8)
        await ask(stage, "Mira?")
        await ask(stage, "And what now, Mira?")
        assert warnings(stage) == [TAVERN.id]
        assert len(stage.messenger.texts()) == 2
    async with open_stage(tmp_path) as stage:
        await ask(stage, "Are you still there, Mira?")
        assert len(stage.messenger.texts()) == 1
        assert warnings(stage) == []


async def test_the_notice_goes_to_the_log_channel_when_it_can_be_seen(tmp_path: Path) -> None:
    async with limited(tmp_path, channels=KnownChannels()) as (stage, _):
        await stage.troupe.options.set(TAVERN.space_id, 0, "log_channel", str(LOG.id))
        await use(stage, 0.8)
        await ask(stage)
        assert warnings(stage) == [LOG.id]


async def test_without_a_log_channel_it_goes_where_discord_tells_moderators_something(tmp_path: Path) -> None:
    async with limited(tmp_path, channels=KnownChannels()) as (stage, _):
        await use(stage, 0.8)
        await ask(stage)
        assert warnings(stage) == [UPDATES.id]


async def test_a_log_channel_of_another_server_gets_nothing(tmp_path: Path) -> None:
    async with limited(tmp_path) as (stage, _):
        await stage.troupe.options.set(TAVERN.space_id, 0, "log_channel", str(LOG.id))
        await use(stage, 0.8)
        await ask(stage)
        assert warnings(stage) == [TAVERN.id]


async def test_the_next_day_it_may_be_told_again(tmp_path: Path) -> None:
    async with limited(tmp_path) as (stage, _):
        for text in ("Mira?", "And what now, Mira?"):
            await use(stage, 0.8)
            await ask(stage, text)
            stage.clock.ahead += timedelta(days=1)
        assert warnings(stage) == [TAVERN.id, TAVERN.id]


async def test_at_eighty_five_percent_prompts_get_shorter(tmp_path: Path) -> None:
    async with limited(tmp_path, context_tokens=4096) as (stage, _):
        for number in range(60):
            stage.say(f"Line {number}: " + "the rain goes on and on " * 12)
        await stage.quiet()
        await ask(stage, "Mira, what now?")
        await use(stage, 0.85)
        await ask(stage, "Mira, and now?")
        before, after = (len(prompt.text) for prompt in stage.model.of("reply"))
        assert after < 0.7 * before
        assert len(stage.messenger.texts()) == 2


async def test_at_ninety_percent_the_cheaper_model_answers_at_its_own_price(tmp_path: Path) -> None:
    cheap = ScriptedChatModel({"reply": ["Cheaply said."]})
    spending = Spending(price=Price(100, 100), cheap=Tier(cheap, Price(1, 1)))
    async with limited(tmp_path, spending=spending) as (stage, persona):
        await use(stage, 0.89)
        await ask(stage)
        assert cheap.prompts == []
        await use(stage, 0.02)
        day = stage.clock().date()
        before = await stage.store.usage.report(9, day, day, by=GroupBy.PERSONA)
        await ask(stage)
        assert stage.messenger.texts()[-1] == "Cheaply said."
        assert len(stage.model.of("reply")) == 1
        after = await stage.store.usage.report(9, day, day, by=GroupBy.PERSONA)
        spent = after[str(persona.id)] - before[str(persona.id)]
        assert spent.calls == 1
        assert spent.cost == spent.tokens > 0


async def test_without_a_cheaper_model_the_usual_one_goes_on(tmp_path: Path) -> None:
    async with limited(tmp_path) as (stage, _):
        await use(stage, 0.95)
        await ask(stage)
        assert len(stage.model.of("reply")) == 1


async def test_at_the_end_each_place_gets_one_tired_line_and_then_silence(tmp_path: Path) -> None:
    clock = RealClock()
    async with limited(tmp_path, clock=clock) as (stage, persona):
        await stage.scene(persona, place=CELLAR)
        await stage.troupe.options.set(TAVERN.space_id, 0, "tired_line", "*{{char}} sleeps.*")
        await use(stage, 1.0)
        for place in (TAVERN, CELLAR, TAVERN):
            await ask(stage, place=place)
            await ask(stage, by=BOB, place=place)
        assert [place_id for place_id, _, _ in stage.messenger.said] == [TAVERN.id, CELLAR.id]
        assert {name for _, name, _ in stage.messenger.said} == {"Mira"}
        assert stage.messenger.texts()[0].startswith("*Mira sleeps.*")
        assert stage.model.of("reply") == []
        assert stage.messenger.typed == []
        assert len([turn for turn in await stage.window() if turn.persona_id is None]) == 4
        assert [turn for turn in await stage.window() if turn.persona_id] == []
    async with open_stage(tmp_path, clock=clock) as stage:
        await ask(stage)
        assert stage.messenger.said == []
        clock.ahead += timedelta(days=1)
        await ask(stage)
        assert len(stage.messenger.texts()) == 1
        assert len(stage.model.of("reply")) == 1


async def test_a_month_is_over_only_when_it_ends(tmp_path: Path) -> None:
    clock = RealClock()
    clock.ahead = clock().replace(day=10) - clock()
    async with limited(tmp_path, key="monthly_tokens", clock=clock) as (stage, _):
        await use(stage, 1.0)
        for days in (0, 1, 5):
            clock.ahead += timedelta(days=days)
            await ask(stage)
        assert len(stage.messenger.said) == 1
        assert "this month" in stage.messenger.texts()[0]
        clock.ahead += timedelta(days=31)
        await ask(stage)
        assert len(stage.model.of("reply")) == 1


async def test_a_call_that_would_pass_the_limit_is_not_made(tmp_path: Path) -> None:
    async with limited(tmp_path) as (stage, _):
        await use(stage, 0.9999)
        await ask(stage)
        assert stage.model.of("reply") == []
        assert "used up" in stage.messenger.texts()[0]


async def test_a_member_at_the_limit_is_told_and_others_are_answered(tmp_path: Path) -> None:
    async with limited(tmp_path, key="member_daily_tokens") as (stage, _):
        await use(stage, 1.0)
        await ask(stage, by=ALICE)
        await ask(stage, by=ALICE)
        await ask(stage, by=BOB)
        tired, answer = stage.messenger.texts()
        assert "Your tokens for today" in tired
        assert "used up" not in answer
        assert stage.messenger.notices == []
        day = stage.clock().date()
        by_member = await stage.store.usage.report(9, day, day, by=GroupBy.MEMBER)
        assert by_member[str(ALICE)].tokens == LIMIT
        assert by_member[str(BOB)].calls == 1


async def test_who_is_over_the_limit_pays_nothing_when_answered_together(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with limited(tmp_path, key="member_daily_tokens", gate=gate) as (stage, _):
        await use(stage, 1.0)
        stage.say("Mira, hello.", by=BOB)
        await stage.troupe.journal.flushed()
        await stage.model.asked.wait()
        stage.say("Mira, and me?", by=ALICE)
        stage.say("Mira, and us?", by=BOB)
        await stage.troupe.journal.flushed()
        await stage.window()
        gate.set()
        await stage.quiet()
        assert len(stage.messenger.texts()) == 2
        day = stage.clock().date()
        by_member = await stage.store.usage.report(9, day, day, by=GroupBy.MEMBER)
        assert by_member[str(ALICE)].tokens == LIMIT
        assert by_member[str(BOB)].calls == 2


async def test_a_persona_at_the_limit_is_silent_and_another_answers(tmp_path: Path) -> None:
    async with limited(tmp_path, key="persona_daily_cost", limit=LIMIT / 1_000_000) as (stage, mira):
        kenji = await stage.persona("Kenji")
        await stage.troupe.scenes.cast_add(TAVERN, kenji.id)
        await use(stage, 1.0, persona_id=mira.id)
        await ask(stage, "Mira?")
        await ask(stage, "Kenji?")
        assert [name for _, name, _ in stage.messenger.said] == ["Mira", "Kenji"]
        assert "Mira's budget" in stage.messenger.texts()[0]
        assert len(stage.model.of("reply")) == 1


async def test_a_ceiling_of_the_bot_holds_whatever_a_server_sets_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spending = Spending(ceilings(daily_tokens=LIMIT))
    async with limited(tmp_path, limit=100 * LIMIT, spending=spending) as (stage, _):
        await use(stage, 1.0)
        await ask(stage)
        await ask(stage)
        assert stage.model.of("reply") == []
        assert stage.messenger.notices == []
        assert caplog.text.count("DAILY_TOKENS is used to 100%") == 1


async def test_a_tired_line_that_discord_does_not_take_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with limited(tmp_path) as (stage, _):
        await use(stage, 1.0)
        stage.messenger.failures.append(DeliveryError("no permission"))
        await ask(stage)
        assert "is not told that daily_tokens is used up" in caplog.text


# ---------------------------------------------------------------- what a call is counted as
async def spent_of(stage: Stage) -> Spent:
    await stage.troupe.usage.settled()
    day = stage.clock().date()
    found = await stage.store.usage.report(9, day, day, by=GroupBy.DAY)
    return found.get(day.isoformat(), Spent())


async def test_a_reply_counts_what_the_server_says(tmp_path: Path) -> None:
    async with open_stage(tmp_path, spending=Spending(price=Price(2, 3))) as stage:
        await stage.scene(await stage.persona())
        await ask(stage)
        spent = await spent_of(stage)
        (prompt,) = stage.model.of("reply")
        asked = sum(stage.model.count_tokens(message.content) + 5 for message in prompt.messages)
        assert spent.input_tokens == asked
        assert spent.cost == 2 * spent.input_tokens + 3 * spent.output_tokens
        assert spent.calls == 1


async def test_a_failed_call_costs_nothing_and_frees_its_reservation(tmp_path: Path) -> None:
    async with limited(tmp_path, script={"reply": [ModelUnavailable("down")]}) as (stage, _):
        await ask(stage)
        assert (await spent_of(stage)) == Spent()
        assert (await stage.store.usage.used(9, stage.clock().date(), stage.clock().date())) == Spent()


async def test_an_answer_without_usage_counts_as_estimated_and_not_as_reserved(tmp_path: Path) -> None:
    class Silent(ScriptedChatModel):
        async def complete(self, *args: object, **options: object) -> Completion:
            found = await super().complete(*args, **options)  # type: ignore[arg-type]
            return replace(found, usage=None)

    model = Silent({"reply": ["A short answer."]})
    async with limited(tmp_path, chat=model) as (stage, _):
        await ask(stage)
        spent = await spent_of(stage)
        assert spent.output_tokens == model.count_tokens("A short answer.")
        assert spent.input_tokens > 0


async def test_a_call_that_is_cut_off_counts_its_prompt(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with limited(tmp_path, gate=gate) as (stage, _):
        message = stage.say("Mira?")
        await stage.model.asked.wait()
        stage.delete(message)
        await stage.quiet()
        spent = await spent_of(stage)
        assert spent.input_tokens > 0
        assert spent.output_tokens == 0
        used = await stage.store.usage.used(9, stage.clock().date(), stage.clock().date())
        assert used.tokens == spent.tokens


async def test_work_behind_the_replies_counts_for_the_server_alone(tmp_path: Path) -> None:
    background = ScriptedChatModel({"*": ["{}"] * 50})
    spending = Spending(price=Price(100, 100), background_price=Price(1, 1))
    async with open_stage(tmp_path, background=background, spending=spending) as stage:
        await stage.scene(await stage.persona())
        for number in range(12):
            stage.say(f"I count to {number}.")
        await stage.quiet()
        async with asyncio.timeout(30):
            while not (await spent_of(stage)).calls:
                await asyncio.sleep(0.01)
        day = stage.clock().date()
        (key,) = await stage.store.usage.report(9, day, day, by=GroupBy.MEMBER)
        assert key == "0"
        spent = await spent_of(stage)
        assert spent.cost == spent.tokens


async def test_work_behind_the_replies_waits_when_nothing_is_left(tmp_path: Path) -> None:
    async with limited(tmp_path) as (stage, _):
        await use(stage, 1.0)
        for number in range(12):
            stage.say(f"I count to {number}.")
        await stage.quiet()
        await asyncio.sleep(0.05)
        assert stage.model.of("memory") == []
        assert stage.troupe.summariser.waiting == 12


async def test_nothing_is_written_of_a_member_who_opted_out(tmp_path: Path) -> None:
    async with limited(tmp_path, key="member_daily_tokens") as (stage, persona):
        await stage.troupe.privacy.opt_out(ALICE)
        await ask(stage)
        assert len(stage.messenger.texts()) == 1
        day = stage.clock().date()
        assert set(await stage.store.usage.report(9, day, day, by=GroupBy.MEMBER)) == {"0"}
        assert set(await stage.store.usage.report(9, day, day, by=GroupBy.PERSONA)) == {str(persona.id)}


async def test_what_was_spent_is_counted_also_at_the_end(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira?")
        await stage.quiet()
        day = stage.clock().date()
    async with open_stage(tmp_path) as stage:
        assert (await stage.store.usage.report(9, day, day, by=GroupBy.MEMBER))[str(ALICE)].calls == 1


async def test_a_reply_in_flight_counts_to_nobody_once_its_member_is_forgotten(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with limited(tmp_path, gate=gate) as (stage, _):
        await use(stage, 0.2)
        stage.say("Mira?")
        await stage.model.asked.wait()
        await stage.troupe.privacy.forget(ALICE)
        gate.set()
        await stage.quiet()
        await stage.troupe.usage.settled()
        day = stage.clock().date()
        (key,) = await stage.store.usage.report(9, day, day, by=GroupBy.MEMBER)
        assert key == "0"
        assert (await stage.store.usage.used(9, day, day)).tokens > 0.2 * LIMIT


async def test_a_store_that_fails_for_a_while_loses_no_count(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        limits = stage.troupe.usage._limits
        payer, day = Payer(9, 500, (ALICE,), 1), stage.clock().date()
        add = stage.store.usage.add
        failures = [StorageError("full"), StorageError("full")]

        async def failing(entries: Sequence[Entry]) -> None:
            if failures:
                raise failures.pop()
            await add(entries)

        stage.store.usage.add = failing  # type: ignore[method-assign]
        for _ in range(3):
            reserved = await limits.reserve(payer, Spent(0, 5, 5))
            limits.settle(reserved, Spent(1, 3, 4))
            async with asyncio.timeout(30):
                while limits._jobs.busy:
                    await asyncio.sleep(0.01)
        await stage.troupe.usage.settled()
        assert (await stage.store.usage.report(9, day, day, by=GroupBy.MEMBER))[str(ALICE)] == Spent(3, 9, 12)


async def test_who_used_what_is_forgotten_in_time(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        today = stage.clock().date()
        payer = Payer(9, 500, (ALICE,), 1)
        for ago in (0, 20, 70):
            await stage.store.usage.add([Entry(payer, today - timedelta(days=ago), Spent(1, 8, 2))])

        async def known() -> dict[str, int]:
            first = today - timedelta(days=100)
            found = await stage.store.usage.report(9, first, today, by=GroupBy.MEMBER)
            return {key: spent.calls for key, spent in found.items()}

        await stage.troupe.retention.step()
        assert await known() == {"0": 1, str(ALICE): 2}
        await stage.troupe.options.set(9, 0, "retention_days", "10")
        await stage.troupe.retention.step()
        assert await known() == {"0": 2, str(ALICE): 1}
