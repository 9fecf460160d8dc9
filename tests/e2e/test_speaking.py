"""How a bot in its own process speaks and to whom: webhooks and without, proxies, bursts, trouble."""

from __future__ import annotations

import asyncio

import pytest

from bot.core.options import PLURALKIT
from tests.discord_server import BOT_DEFAULT, Permission
from tests.e2e.bot_process import Table, asked, eventually, plain, window
from tests.model_server import Fail, Say

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_deleted_webhook_is_made_anew_and_the_reply_posted_once(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    before = await table.talk(anna, inn, "Mira, one!", "Mira")
    (webhook,) = table.stage.discord.webhooks_of(inn)
    table.stage.discord.delete_webhook(webhook)
    after = await table.talk(anna, inn, "Mira, two!", "Mira")
    assert after.webhook_id != before.webhook_id
    await table.talk(anna, inn, "Mira, three!", "Mira")
    assert len(table.spoken(inn)) == 3
    assert len(table.stage.discord.webhooks_of(inn)) == 1


async def test_without_manage_webhooks_the_name_stands_in_bold(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    table.stage.discord.set_bot_permissions(table.guild, BOT_DEFAULT & ~Permission.MANAGE_WEBHOOKS)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await anna.say(inn, "Mira, are you there?")
    reply = await table.note(inn, "**Mira**\n")
    assert "are you there?" in reply.content
    await table.reply_to(await anna.say(inn, "And now?", reply_to=reply), "Troupe")
    assert len(table.prompts()) == 2
    assert "Mira: *nods*" not in window(table.prompts()[-1])  # own words are the assistant's
    assert "assistant" in [role for role, _ in table.prompts()[-1].messages]


async def test_a_scene_in_direct_messages(table: Table) -> None:
    anna = table.stage.discord.add_user("Anna")
    home = table.stage.discord.dm(anna)
    form = await anna.slash("persona create", home)
    values = {"name": "Mira", "description": "A friend.", "greeting": "You again!"}
    assert "Mira" in (await (await anna.submit_modal(form, values)).answer()).text
    assert "has begun" in await table.use("scene start", home, anna, name="Two of us")
    await table.note(home, "You again!")
    await anna.say(home, "I had a long day.")
    reply = await table.note(home, "I had a long day.")
    assert reply.content.startswith("**Mira**\n")
    assert "Anna: I had a long day." in window(table.prompts("Two of us")[-1])


async def test_bots_and_foreign_webhooks_are_not_heard(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    robot = table.member("Robot", bot=True)
    feed = table.stage.discord.add_webhook(inn, "News feed")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await robot.say(inn, "Mira, beep!")
    await feed.say("Mira, breaking news!")
    await table.talk(anna, inn, "Mira, do you hear them?", "Mira")
    assert len(table.spoken(inn)) == len(table.prompts()) == 1
    assert "beep" not in table.prompts()[0].text
    assert "breaking news" not in table.prompts()[0].text
    assert table.stage.stored("SELECT count(*) FROM turns WHERE place_id = ?", inn.id) == [(2,)]


async def test_a_proxied_message_is_answered_once_under_the_name_it_shows(table: Table) -> None:
    inn, anna, ben = table.channel(), table.member("Anna"), table.member("Ben")
    pluralkit = table.stage.discord.add_app(table.guild, "PluralKit", application_id=PLURALKIT)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await pluralkit.proxy(await anna.say(inn, "l: a first word."), "Luna", "a first word.")
    original = await anna.say(inn, "l: Mira, hear me!")
    copy = await pluralkit.proxy(original, "Luna", "Mira, hear me!", delay=0.3)
    reply = await table.reply_to(copy, "Mira")
    assert "Mira, hear me!" in reply.content
    plainly = await table.talk(ben, inn, "Mira, and me?", "Mira")
    assert plainly.id > reply.id
    assert len(table.spoken(inn, ["Mira"])) == len(table.prompts()) == 2
    assert "Luna: Mira, hear me!" in window(table.prompts()[-1])
    assert "l: Mira" not in table.prompts()[-1].text
    assert not table.stage.stored("SELECT 1 FROM turns WHERE text LIKE 'l: Mira%'")


async def test_what_is_said_while_a_reply_is_made_gets_one_answer_together(table: Table) -> None:
    inn, anna, ben = table.channel(), table.member("Anna"), table.member("Ben")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    go = asyncio.Event()
    table.stage.model.set_script("reply", [Say("Slowly, slowly.", gate=go)])
    await anna.say(inn, "Mira, tea!")
    await table.stage.model.wait_until(lambda _: table.prompts("Mira, tea!"))
    table.stage.model.set_script("reply", plain)
    burst = [await who.say(inn, f"Mira, part {number}!") for number in range(6) for who in (anna, ben)]
    query = "SELECT count(*) FROM turns WHERE place_id = ? AND text LIKE 'Mira, part%'"
    await eventually(lambda: table.stage.stored(query, inn.id) == [(12,)], "all of it was heard")
    go.set()
    slow = await table.reply_to(burst[-1], "Mira")
    assert slow.content == "Slowly, slowly."
    await table.reply_to(slow, "Mira")
    await table.talk(anna, inn, "Mira, done.", "Mira")
    answers = [text for prompt in table.prompts() for text in asked(prompt)]
    assert sorted(answers) == sorted(
        ["Mira, tea!", *(f"Mira, part {number}!" for number in range(6) for _ in range(2)), "Mira, done."]
    )
    assert len(table.spoken(inn)) == len(table.prompts()) == 3


async def test_out_of_character_lines_get_no_answer(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    for line in ("((Mira is well played))", "// Mira, brb", "[ooc] Mira, one minute"):
        await anna.say(inn, line)
    await table.talk(anna, inn, "Mira, back again.", "Mira")
    assert [asked(prompt) for prompt in table.prompts()] == [["Mira, back again."]]
    assert len(table.spoken(inn)) == 1


async def test_a_long_reply_comes_in_whole_pieces_through_one_webhook(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    sentences = [f"This is sentence number {number} of a very long tale." for number in range(100)]
    table.stage.model.set_script("reply", lambda _: Say(" ".join(sentences), chunks=None))
    await anna.say(inn, "Mira, tell me everything!")
    await table.stage.discord.wait_for_message(inn, lambda one: sentences[-1] in one.content)
    parts = table.spoken(inn)
    assert len(parts) >= 3
    assert all(len(part.content) <= 2000 for part in parts)
    assert " ".join(part.content for part in parts).split() == " ".join(sentences).split()
    assert len({part.webhook_id for part in parts}) == 1
    table.stage.restore()
    await table.talk(anna, inn, "Mira, thank you!", "Mira")
    # The pieces are one turn, also for the one who replies to any of them.
    await table.reply_to(await anna.say(inn, "This part!", reply_to=parts[1]), "Mira")
    assert table.stage.stored("SELECT count(*) FROM turns WHERE text LIKE '%sentence number 5 %'") == [(1,)]


async def test_a_silent_model_gives_one_notice_and_is_asked_again_later(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    table.stage.model.set_script("reply", lambda _: Fail(401, {"error": {"message": "Bad key"}}))
    said = await anna.say(inn, "Mira, can you hear me?")
    notice = await table.note(inn, "cannot answer")
    assert notice.reference is not None
    assert notice.reference["message_id"] == str(said.id)
    assert "⚠️ language model" in await table.use("settings show", inn)
    table.stage.restore()
    reply = await table.talk(anna, inn, "Mira, and now?", "Mira", timeout=30)
    assert "and now?" in reply.content
    assert "can you hear me?" in window(table.prompts()[-1])
    assert "✅ language model" in await table.use("settings show", inn)
    shown = [one for one in table.stage.discord.messages(inn) if "cannot answer" in one.content]
    assert len(shown) == len(table.spoken(inn)) == 1


async def test_a_cut_connection_or_a_refusal_for_a_moment_doubles_no_reply(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await table.talk(anna, inn, "Mira, warm up!", "Mira")
    discord = table.stage.discord
    faults = [
        lambda: discord.reset_next("POST", "/webhooks/", when="after"),
        lambda: discord.reset_next("POST", "/webhooks/", when="before"),
        lambda: discord.fail_next("POST", "/webhooks/", status=502, after_effect=True),
        lambda: discord.limit_next("POST", "/webhooks/", retry_after=0.1),
    ]
    for number, fault in enumerate(faults):
        started = fault()
        said = await anna.say(inn, f"Mira, number {number}!")
        reply = await table.reply_to(said, "Mira")
        assert f"number {number}!" in reply.content
        assert started.hits == 1
    await table.talk(anna, inn, "Mira, enough!", "Mira")
    texts = [one.content for one in table.spoken(inn)]
    assert len(texts) == len(set(texts)) == len(faults) + 2


async def test_a_card_of_another_space_stays_there(table: Table) -> None:
    """Two guilds with a persona of the same name and the same words never meet."""
    inn, anna = table.channel(), table.member("Anna")
    other = await Table.lay(table.stage, "Elsewhere")
    away, ben = other.channel(), other.member("Ben")
    table.stage.model.set_script("reply", plain)
    for home, place in ((table, inn), (other, away)):
        await home.persona("Mira", place, description=f"Mira of {home.guild.name}.")
        await home.scene("Feast", place)
    await anna.say(inn, "The saffron is mine.")
    await table.talk(anna, inn, "Mira, saffron?", "Mira")
    await other.talk(ben, away, "Mira, what about saffron?", "Mira")
    prompt = other.prompts()[-1]
    assert "The saffron is mine." not in prompt.text
    assert f"Mira of {table.guild.name}." not in prompt.text
    assert "saffron is mine" not in await other.use("memory search", away, query="Whose is the saffron?")


async def test_two_members_of_one_display_name_are_told_apart(table: Table) -> None:
    inn, first, second = table.channel(), table.member("Robin"), table.member("Robin")
    table.stage.model.set_script("reply", plain)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await first.say(inn, "I brought the lute.")
    await second.say(inn, "I brought the drum.")
    await table.talk(first, inn, "Mira, who plays what?", "Mira")
    shown = window(table.prompts()[-1]).splitlines()
    assert "Robin: I brought the lute." in shown
    assert "Robin (2): I brought the drum." in shown
    assert "Robin: Mira, who plays what?" in shown
    await table.talk(second, inn, "Mira, and I?", "Mira")
    assert "Robin (2): Mira, and I?" in window(table.prompts()[-1]).splitlines()
