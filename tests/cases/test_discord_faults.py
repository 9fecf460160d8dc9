"""Faults of Discord, end to end, by name: every question gets one answer, and no answer is posted twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.cases.in_process import InProcess, feast, since
from tests.discord_server import Channel, DiscordServer, Permission, ScriptedUser
from tests.discord_server.limits import RateLimits
from tests.discord_server.payloads import guild_create_json
from tests.e2e.bot_process import Table, eventually
from tests.model_server import Say

pytestmark = pytest.mark.asyncio(loop_scope="module")

ANSWERED = r"/webhooks/\d+/[^/]+$"
"""The address that a webhook speaks at."""


@pytest.fixture(autouse=True)
def quick(running_bot: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_bot.app.troupe.delivery, "_pause", 0.05)


async def settled(play: InProcess, table: Table, inn: Channel) -> None:
    """Nothing is on its way, and every row of the outbox is closed."""
    await play.app.troupe.delivery.quiet([inn.id], 10)
    await eventually(
        lambda: play.stored("SELECT 1 FROM outbox WHERE closed_at IS NULL AND place_id = ?", inn.id) == [],
        "every message is settled",
    )


async def answered_once(play: InProcess, table: Table, inn: Channel, anna: ScriptedUser) -> None:
    """One question, one answer; and the next one too."""
    said = await anna.say(inn, "Mira, do you hear the bell?")
    await table.reply_to(said, "Mira", 30)
    await settled(play, table, inn)
    assert len(table.spoken(inn, ["Mira"])) == 1
    await table.talk(anna, inn, "Mira, and now?", "Mira", 30)
    await settled(play, table, inn)
    assert len(table.spoken(inn, ["Mira"])) == len(table.prompts()) == 2


def _failing(status: int, *, after: bool) -> Callable[[DiscordServer], object]:
    return lambda discord: discord.fail_next("POST", ANSWERED, status=status, after_effect=after)


SENDING: dict[str, Callable[[DiscordServer], object]] = {
    **{
        f"{status} before it took effect": _failing(status, after=False)
        for status in (500, 502, 503, 504, 520)
    },
    **{
        f"{status} after it took effect": _failing(status, after=True) for status in (500, 502, 503, 504, 520)
    },
    "503 as a page": lambda discord: discord.fail_next(
        "POST", ANSWERED, status=503, body="<html>upstream connect error</html>", after_effect=True
    ),
    "reset before it took effect": lambda discord: discord.reset_next("POST", ANSWERED),
    "reset after it took effect": lambda discord: discord.reset_next("POST", ANSWERED, when="after"),
    "429 of the bucket": lambda discord: discord.limit_next("POST", ANSWERED, retry_after=0.2),
    "429 shared": lambda discord: discord.limit_next("POST", ANSWERED, retry_after=0.2, scope="shared"),
    "429 global": lambda discord: discord.limit_next("POST", ANSWERED, retry_after=0.2, scope="global"),
    "429 of Cloudflare in HTML": lambda discord: discord.limit_next(
        "POST", ANSWERED, html=True, via=False, retry_after=0.2
    ),
    "429 in HTML with Via": lambda discord: discord.limit_next(
        "POST", ANSWERED, html=True, via=True, retry_after=0.2
    ),
    "webhook unknown": lambda discord: discord.fail_next(
        "POST", ANSWERED, status=404, code=10015, message="Unknown Webhook"
    ),
    "a late answer": lambda discord: discord.slow_next("POST", ANSWERED, 1.0, when="after"),
}


@pytest.mark.parametrize("fault", SENDING)
async def test_an_answer_is_sent_through(table: Table, running_bot: InProcess, fault: str) -> None:
    inn, anna = await feast(table)
    SENDING[fault](running_bot.discord)
    await answered_once(running_bot, table, inn, anna)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/channels/{id}/webhooks"),
        ("POST", "/channels/{id}/webhooks"),
        ("POST", "/channels/{id}/typing"),
    ],
)
@pytest.mark.parametrize("status", [500, 503, 520, 429])
async def test_what_goes_before_an_answer_may_fail(
    table: Table, running_bot: InProcess, method: str, path: str, status: int
) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    where = path.format(id=inn.id)
    if status == 429:
        running_bot.discord.limit_next(method, where, html=True, via=False, retry_after=0.1)
    else:
        running_bot.discord.fail_next(method, where, status=status)
    said = await anna.say(inn, "Mira, do you hear the bell?")
    await table.stage.discord.until(lambda: _words(table, inn, said.id), 30, "an answer")
    await settled(running_bot, table, inn)
    assert len(_words(table, inn, said.id)) == 1


def _words(table: Table, inn: Channel, after: int) -> list[str]:
    """What a persona said, through a webhook or with its name before it."""
    return [
        one.content
        for one in table.stage.discord.messages(inn)
        if one.id > after and "the bell" in one.content and one.author_name in ("Mira", "Troupe")
    ]


async def test_a_webhook_is_deleted_while_the_model_writes(table: Table, running_bot: InProcess) -> None:
    inn, anna = await feast(table)
    await table.talk(anna, inn, "Mira, hello!", "Mira")
    gate = asyncio.Event()
    table.stage.model.set_script("reply", [Say("I was thinking.", gate=gate)])
    said = await anna.say(inn, "Mira, think!")
    await table.stage.model.wait_until(lambda _: table.prompts("think!"))
    for webhook in table.stage.discord.webhooks_of(inn):
        table.stage.discord.delete_webhook(webhook)
    gate.set()
    assert (await table.reply_to(said, "Mira")).content == "I was thinking."
    await settled(running_bot, table, inn)
    assert len(table.spoken(inn, ["Mira"])) == 2
    assert len(table.stage.discord.webhooks_of(inn)) == 1


@pytest.mark.parametrize("lost", ["webhooks", "everything"])
async def test_permissions_are_taken_away_while_the_model_writes(
    table: Table, running_bot: InProcess, lost: str
) -> None:
    inn, anna = await feast(table)
    discord, gate = table.stage.discord, asyncio.Event()
    table.stage.model.set_script("reply", [Say("I was thinking.", gate=gate), Say("I am back.")])
    said = await anna.say(inn, "Mira, think!")
    await table.stage.model.wait_until(lambda _: table.prompts("think!"))
    denied = Permission.MANAGE_WEBHOOKS
    if lost == "everything":
        denied |= Permission.SEND_MESSAGES | Permission.VIEW_CHANNEL
    for webhook in discord.webhooks_of(inn):
        discord.delete_webhook(webhook)
    discord.set_overwrite(inn, discord.world.bot, deny=denied)
    seen = since(running_bot)
    gate.set()
    if lost == "webhooks":
        assert (await table.note(inn, "I was thinking.")).content.startswith("**Mira**")
    else:
        await eventually(lambda: [one for one in seen() if one.status == 403], "a refusal")
        await settled(running_bot, table, inn)
        assert len([one for one in seen() if one.status == 403]) <= 5
    discord.set_overwrite(inn, discord.world.bot)
    again = await anna.say(inn, "Mira, and now?")
    await discord.wait_for_message(inn, lambda one: one.id > again.id and "I am back." in one.content)
    assert len([one for one in discord.messages(inn) if "I was thinking." in one.content]) == (
        lost == "webhooks"
    )
    assert said.id < again.id


async def test_a_channel_is_deleted_while_the_model_writes(table: Table, running_bot: InProcess) -> None:
    inn, anna = await feast(table)
    yard, _ = table.channel("yard"), await table.scene("Feast", table.channel("yard"))
    gate = asyncio.Event()
    table.stage.model.set_script("reply", [Say("I was thinking.", gate=gate), Say("In the yard now.")])
    await anna.say(inn, "Mira, think!")
    await table.stage.model.wait_until(lambda _: table.prompts("think!"))
    table.stage.discord.delete_channel(inn)
    gate.set()
    assert (await table.talk(anna, yard, "Mira, here!", "Mira")).content == "In the yard now."
    await eventually(lambda: not running_bot.app.troupe.is_live(inn.id), "the channel is forgotten")
    await eventually(
        lambda: running_bot.stored("SELECT count(*) FROM turns WHERE place_id = ?", inn.id) == [(0,)],
        "what was said there is gone",
    )


async def test_a_guild_is_unavailable_for_a_while(table: Table, running_bot: InProcess) -> None:
    inn, anna = await feast(table)
    await table.talk(anna, inn, "Mira, the saffron lies in the cellar.", "Mira")
    discord = table.stage.discord
    discord.guild_outage(table.guild)
    await discord.gateway.flushed()
    discord.gateway.dispatch(
        "GUILD_CREATE",
        guild_create_json(
            table.guild,
            application_id=discord.application_id,
            bot_id=discord.bot_user_id,
            all_members=False,
        ),
        guild_id=table.guild.id,
    )
    await discord.gateway.flushed()
    reply = await table.talk(anna, inn, "Mira, where is the saffron?", "Mira")
    assert reply.content
    assert "cellar" in table.prompts()[-1].text
    assert len(table.spoken(inn, ["Mira"])) == 2
    hellos = [one for one in discord.messages(table.channel("lobby")) if "/persona create" in one.content]
    assert len(hellos) == 1


async def test_every_event_comes_twice(table: Table, running_bot: InProcess) -> None:
    inn, anna = await feast(table)
    table.stage.discord.gateway.duplicate_next = 6
    await answered_once(running_bot, table, inn, anna)
    table.stage.discord.gateway.duplicate_next = 0
    assert running_bot.stored("SELECT count(*) FROM turns WHERE place_id = ?", inn.id) == [(4,)]


@pytest.mark.parametrize("code", [1000, 4000, 4009])
async def test_the_gateway_closes(table: Table, running_bot: InProcess, code: int) -> None:
    inn, anna = await feast(table)
    discord = table.stage.discord
    await discord.gateway.close(code)
    said = await anna.say(inn, "Mira, do you hear the bell?")
    await table.reply_to(said, "Mira", 40)
    await settled(running_bot, table, inn)
    assert len(table.spoken(inn, ["Mira"])) == 1
    assert running_bot.stored(
        "SELECT count(*) FROM turns WHERE place_id = ? AND persona_id IS NULL", inn.id
    ) == [(1,)]


async def test_discord_asks_to_reconnect_in_the_middle_of_an_answer(
    table: Table, running_bot: InProcess
) -> None:
    inn, anna = await feast(table)
    gate = asyncio.Event()
    table.stage.model.set_script("reply", [Say("I was thinking.", gate=gate)])
    said = await anna.say(inn, "Mira, think!")
    await table.stage.model.wait_until(lambda _: table.prompts("think!"))
    resumes = table.stage.discord.gateway.resumes
    table.stage.discord.gateway.reconnect()
    await table.stage.discord.until(lambda: table.stage.discord.gateway.resumes > resumes, 20, "the resume")
    gate.set()
    assert (await table.reply_to(said, "Mira")).content == "I was thinking."
    await settled(running_bot, table, inn)
    assert len(table.spoken(inn, ["Mira"])) == 1


# ---------------------------------------------------------------- interactions
CALLBACK = r"/interactions/\d+/[^/]+/callback"
FOLLOWUP = r"/webhooks/\d+/[^/]+"


@pytest.mark.parametrize(
    ("command", "path", "fault"),
    [
        ("scene pause", CALLBACK, {"status": 404, "code": 10062, "message": "Unknown interaction"}),
        ("scene pause", CALLBACK, {"status": 400, "code": 40060, "message": "Acknowledged"}),
        ("scene pause", CALLBACK, {"status": 520, "body": "<html>520</html>", "times": 9}),
        ("memory search", FOLLOWUP, {"status": 404, "code": 10015, "message": "Unknown Webhook"}),
    ],
    ids=["expired", "answered already", "520", "expired follow-up"],
)
async def test_an_interaction_that_cannot_be_answered(
    table: Table, running_bot: InProcess, command: str, path: str, fault: dict[str, Any]
) -> None:
    inn, anna = await feast(table)
    method = "POST" if path == CALLBACK else "PATCH"  # what was deferred is filled, not sent
    failing = running_bot.discord.fail_next(method, path, **fault)
    await table.moderator.slash(command, inn, **({"query": "bell"} if command == "memory search" else {}))
    await eventually(lambda: failing.hits, "the fault")
    running_bot.discord.faults.clear()
    if command == "scene pause":
        await table.use("scene resume", inn)
    await table.talk(anna, inn, "Mira, hello!", "Mira")
    assert len(table.spoken(inn, ["Mira"])) == 1


@pytest.mark.parametrize("seconds", [1.0, 2.5])
async def test_a_slow_callback(table: Table, running_bot: InProcess, seconds: float) -> None:
    inn, _ = await feast(table)
    running_bot.discord.slow_next("POST", CALLBACK, seconds, when="after")
    assert "paused" in await table.use("scene pause", inn)
    assert "goes on" in await table.use("scene resume", inn)


# ---------------------------------------------------------------- limits
async def test_buckets_of_the_rate_limit_keep_order_and_lose_nothing(
    table: Table, running_bot: InProcess
) -> None:
    inn, anna = await feast(table)
    tale = "\n\n".join(
        f"Part {part}. " + " ".join(f"They came to the gate number {part}{at}." for at in range(50))
        for part in range(6)
    )
    table.stage.model.set_script("reply", Say(tale))
    running_bot.discord.limits = RateLimits(limit=3, window=0.6)
    try:
        said = await anna.say(inn, "Mira, tell it all!")
        await table.stage.discord.until(
            lambda: any("Part 5." in one.content for one in table.spoken(inn)), 30, "the last part"
        )
    finally:
        running_bot.discord.limits = None
    await settled(running_bot, table, inn)
    parts = [one for one in table.spoken(inn, ["Mira"]) if one.id > said.id]
    text = "".join(one.content for one in parts)
    places = [text.index(f"Part {number}.") for number in range(6)]
    assert places == sorted(places)
    assert all(text.count(f"Part {number}.") == 1 for number in range(6))
