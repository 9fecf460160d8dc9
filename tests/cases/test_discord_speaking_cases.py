"""Field cases C01–C06: what a persona says arrives whole, calls nobody, and starts no endless talk."""

from __future__ import annotations

import json
import re
from random import Random

import pytest

from bot.core.options import PLURALKIT
from tests.cases.in_process import InProcess, feast, since
from tests.discord_server import BOT_DEFAULT, Message, Permission
from tests.e2e.bot_process import Table, window
from tests.model_server import Say

pytestmark = pytest.mark.asyncio(loop_scope="module")

_WORDS = (
    "river",
    "lantern",
    "harvest",
    "bridge",
    "winter",
    "market",
    "stranger",
    "violin",
    "orchard",
    "bell",
)


def _paragraph(number: int) -> str:
    """About 400 characters that no other paragraph has."""
    sentences = [
        f"In part {number} the {_WORDS[(number + at) % 10]} and the {_WORDS[(number * 3 + at) % 10]} "
        f"met once again at hour {number * 10 + at}."
        for at in range(7)
    ]
    return " ".join(sentences)


async def test_c01_long_reply_arrives_whole_and_in_order(table: Table) -> None:
    inn, anna = await feast(table)
    source = "\n\n".join(_paragraph(number) for number in range(12))
    assert 4500 < len(source) < 5600
    table.stage.model.set_script("reply", [Say(source)])
    await anna.say(inn, "Mira, tell me everything!")
    await table.stage.discord.wait_for_message(inn, lambda one: one.content.endswith(source[-40:]))
    parts = [one.content for one in table.spoken(inn)]
    assert len(parts) == 3
    assert all(len(part) <= 2000 for part in parts)
    assert "\n\n".join(parts) == source  # every cut is between paragraphs
    table.stage.restore()
    await table.talk(anna, inn, "Mira, thanks.", "Mira")
    roles = [role for role, _ in table.prompts()[-1].messages]
    assert roles.count("assistant") == 1
    assert table.stage.stored(
        "SELECT count(*) FROM turns WHERE place_id = ? AND persona_id > 0 AND text LIKE '%In part 3 %'",
        inn.id,
    ) == [(1,)]


async def test_c01_without_webhooks_only_the_first_part_is_a_reply(table: Table) -> None:
    table.stage.discord.set_bot_permissions(table.guild, BOT_DEFAULT & ~Permission.MANAGE_WEBHOOKS)
    inn, anna = await feast(table)
    source = "\n\n".join(_paragraph(number) for number in range(8))
    table.stage.model.set_script("reply", [Say(source)])
    said = await anna.say(inn, "Mira, tell me everything!")
    last = await table.note(inn, source[-40:])
    parts = [one for one in table.stage.discord.messages(inn) if said.id < one.id <= last.id]
    assert len(parts) >= 2
    assert [one.reference and one.reference["message_id"] for one in parts] == [
        str(said.id),
        *[None] * (len(parts) - 1),
    ]
    assert all(not one.mentions for one in parts)


_CHOICE = Random(7)
_ALPHABETS = {
    "no paragraphs": [f"{word} " for word in _WORDS],
    "no border at all": list("abcdefghijklmnopqrstuvwxyz"),
    "emoji": list("🎭🐉🏰🌙🔥🍞🎻🐎🪵🕯"),
    "chinese": list("他说今天的雨很大我们明再去山河城门酒馆火马剑月"),
}


@pytest.mark.parametrize("kind", _ALPHABETS)
async def test_c01_other_long_texts(table: Table, kind: str) -> None:
    text = "".join(_CHOICE.choices(_ALPHABETS[kind], k=900 if " " in _ALPHABETS[kind][0] else 4200)) + "END"
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", [Say(text, chunks=[text])])
    await anna.say(inn, f"Mira, {kind}!")
    await table.stage.discord.wait_for_message(inn, lambda one: one.content.endswith("END"))
    parts = [one.content for one in table.spoken(inn)]
    assert len(parts) >= 3
    assert all(len(part.encode("utf-16-le")) // 2 <= 2000 for part in parts)
    assert re.sub(r"\s", "", "".join(parts)) == re.sub(r"\s", "", text)


async def test_c02_code_fence_stays_whole_over_messages(table: Table) -> None:
    inn, anna = await feast(table)
    lines = [f"value_{number:03} = total + {number:03}" for number in range(300)]
    source = "Here is the spell.\n```python\n" + "\n".join(lines) + "\n```\nUse it well."
    table.stage.model.set_script("reply", [Say(source, chunks=[source])])
    await anna.say(inn, "Mira, write it down!")
    await table.stage.discord.wait_for_message(inn, lambda one: one.content.endswith("Use it well."))
    parts = [one.content for one in table.spoken(inn)]
    assert len(parts) > 3
    assert all(len(part) <= 2000 and part.count("```") % 2 == 0 for part in parts)
    opened = [fence for part in parts for fence in re.findall(r"```(\w*)", part)[::2]]
    assert set(opened) == {"python"}
    code = [line for part in parts for line in part.split("\n") if line.startswith("value_")]
    assert code == lines


_SHOWN = ("content", "embeds", "components", "poll")


async def test_c03_nothing_that_is_sent_can_call_a_crowd(table: Table, running_bot: InProcess) -> None:
    role = table.stage.discord.add_role(table.guild, "Guards", mentionable=True)
    sent = since(running_bot)
    inn, anna = await feast(table, persona="Mira", greeting=f"@everyone hear me <@&{role.id}>")
    spell = f"@everyone @here <@&{role.id}> <@{anna.id}> hello"
    table.stage.model.set_script("reply", lambda _: Say(spell))
    reply = await table.talk(anna, inn, f"Mira, repeat: {spell}", "Mira")  # a webhook
    await _reword(table, reply, f"Once more: {spell}")  # and its edit
    plain = table.channel("plain")
    table.stage.discord.set_bot_permissions(table.guild, BOT_DEFAULT & ~Permission.MANAGE_WEBHOOKS)
    await table.scene("@everyone <@&1>", plain, persona="Mira")  # a message, and an answer to a command
    await anna.say(plain, f"Mira, {spell} again")
    await _reword(table, await table.note(plain, "**Mira**\n"), f"And once more: {spell}")
    await table.use("scene show", plain)
    await table.use("memory search", inn, query="@everyone hello")
    asked = await table.moderator.slash("persona delete", inn, persona="Mira")  # a follow-up, then an edit
    question = await asked.answer()
    done = await table.moderator.click(question, "Delete")
    await done.answer()
    shown = [one for channel in (inn, plain) for one in table.stage.discord.messages(channel)]
    own = [one for one in shown if one.author.id not in (anna.id, table.moderator.id)]
    assert any("hello" in one.content for one in own)
    assert not any(one.mention_everyone or one.mention_roles or one.mentions for one in own)
    routes: set[tuple[str, str]] = set()
    for request in sent():
        body = request.json if isinstance(request.json, dict) else {}
        body = body.get("data") or body if request.template.endswith("/callback") else body
        if request.method not in ("POST", "PATCH") or "custom_id" in body:
            continue  # a form is no message
        if any(body.get(one) for one in _SHOWN):
            routes.add((request.method, request.template))
            assert "allowed_mentions" in body, str(request)
            allowed = body["allowed_mentions"]
            assert not allowed.get("parse"), str(request)
            assert not allowed.get("roles"), str(request)
            assert not allowed.get("replied_user"), str(request)
    assert routes >= {
        ("POST", "/webhooks/{webhook_id}/{webhook_token}"),  # a persona, and what follows a command
        ("PATCH", "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"),  # a persona's words edited
        ("POST", "/channels/{channel_id}/messages"),  # the bot itself
        ("PATCH", "/channels/{channel_id}/messages/{message_id}"),
        ("POST", "/interactions/{interaction_id}/{interaction_token}/callback"),
    }, routes


async def _reword(table: Table, reply: Message, text: str) -> None:
    """Give a reply other words, by its menu."""
    form = await table.moderator.context_menu("Edit reply", reply)
    await form.modal()
    done = await (await table.moderator.submit_modal(form, {"text": text})).answer()
    assert "other words now" in done.text


async def test_c04_own_words_and_other_bots_start_nothing(table: Table) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", lambda _: Say("Mira smiles. Mira, Mira, Mira!"))
    other, feed = table.member("Robot", bot=True), table.stage.discord.add_webhook(inn, "Feed")
    await table.talk(anna, inn, "Mira, hello!", "Mira")
    for number in range(20):
        await other.say(inn, f"<@{table.stage.discord.bot_user_id}> Mira, and you? {number}")
        await feed.say(f"Mira, and you? {number}")
    stranger = table.stage.discord.add_app(table.guild, "Another bot", application_id=777_000_111)
    await stranger.webhook(inn).say("Mira, and you?")
    table.stage.restore()
    await table.talk(anna, inn, "Mira, once more!", "Mira")
    assert len(table.prompts()) == 2
    assert len(table.spoken(inn, ["Mira"])) == 2
    assert "and you?" not in table.prompts()[-1].text


async def test_c04_a_proxy_app_counts_as_its_member(table: Table) -> None:
    """The only webhooks that are heard are those of apps that speak for people."""
    inn, _ = await feast(table)
    kit = table.stage.discord.add_app(table.guild, "PluralKit", application_id=PLURALKIT)
    said = await kit.webhook(inn).say("Mira, it is me.", username="Luna")
    reply = await table.reply_to(said, "Mira")
    assert "it is me" in reply.content
    assert len(table.prompts()) == 1


async def test_c05_at_the_limit_of_webhooks_personas_speak_plainly(table: Table) -> None:
    inn = table.channel()
    for number in range(15):
        table.stage.discord.add_webhook(inn, f"Foreign {number}")
    await table.persona("Mira", inn)
    told = await table.scene("Feast", inn)
    assert "as many webhooks as Discord allows" in told
    assert "15" in told
    anna = table.member("Anna")
    for text in ("Mira, one!", "Mira, two!"):
        await anna.say(inn, text)
        await table.note(inn, text)
    assert [one.content.startswith("**Mira**\n") for one in table.stage.discord.messages(inn)[-3::2]] == [
        True
    ] * 2
    assert not table.stage.discord.webhooks_of(inn)
    shown = "\n".join(one.content for one in table.stage.discord.messages(inn))
    assert "webhooks" not in shown  # only the moderator was told


async def test_c05_a_channel_that_fills_up_while_it_is_asked(table: Table, running_bot: InProcess) -> None:
    """The list has room; somebody else makes the last one just before."""
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    full = {"status": 400, "code": 30007, "message": "Maximum number of webhooks reached (15)"}
    fault = running_bot.discord.fail_next("POST", rf"/channels/{inn.id}/webhooks", times=9, **full)
    assert "as many webhooks as Discord allows" in await table.scene("Feast", inn)
    for text in ("Mira, one!", "Mira, two!"):
        await anna.say(inn, text)
        assert (await table.note(inn, text)).content.startswith("**Mira**\n")
    assert fault.hits == 1
    assert "as many webhooks as Discord allows" in await table.use("settings show", inn)


async def test_c05_one_webhook_serves_twenty_personas(table: Table, running_bot: InProcess) -> None:
    inn, anna = await feast(table)
    place_id = inn.id
    engine = running_bot.app.troupe
    place = engine.live.place(place_id)
    assert place is not None
    names = [f"Guest{number:02}" for number in range(20)]
    for name in names:
        made = await engine.personas.create(place.space_id, name=name, description="A guest.")
        await engine.scenes.cast_add(place, made.id)
    for name in names:
        await table.talk(anna, inn, f"{name}, who are you?", name)
    assert {one.author_name for one in table.spoken(inn)} >= set(names)
    assert len(table.stage.discord.webhooks_of(inn)) == 1


@pytest.mark.parametrize("name", ["Clyde", "blahclydeblah", "Discordia", "DISCORD clyde", "C" * 80])
async def test_c06_names_that_webhooks_refuse_still_speak(table: Table, name: str) -> None:
    inn, anna = table.channel(), table.member("Anna")
    assert name in await table.persona(name, inn)
    await table.scene("Feast", inn, persona=name)
    said = await anna.say(inn, f"{name}, hello!")
    reply = await table.stage.discord.wait_for_message(
        inn, lambda one: one.id > said.id and "hello" in one.content
    )
    assert reply.webhook_id is not None
    assert reply.author_name.replace("\u200a", "") == name
    assert f"**{name}**" in await table.use("persona list", inn)
    await table.talk(anna, inn, f"{name}, and again", reply.author_name)
    assert f"Name: {name}" in table.prompts()[-1].text


async def test_c06_renamed_in_the_middle_of_a_chat(table: Table) -> None:
    inn, anna = await feast(table)
    await table.talk(anna, inn, "Mira, hello!", "Mira")
    form = await table.moderator.slash("persona edit", inn, persona="Mira")
    modal = await form.modal()
    values = {key: field.get("value") or "" for key, field in modal.fields.items()} | {"name": "Clyde"}
    await (await table.moderator.submit_modal(form, values)).answer()
    said = await anna.say(inn, "Clyde, is that you?")
    reply = await table.stage.discord.wait_for_message(
        inn, lambda one: one.id > said.id and "is that you" in one.content
    )
    assert reply.author_name.replace("\u200a", "") == "Clyde"
    assert "Mira, hello!" in window(table.prompts()[-1])


async def test_c06_a_name_of_120_characters_in_a_card(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    name = " ".join(["Ermengarde of the Seven Hills"] * 4)[:120]
    card = {"spec": "chara_card_v2", "data": {"name": name, "description": "A lady."}}
    told = await table.use("persona import", inn, card=("long.json", json.dumps(card).encode()))
    assert "more than 80 characters" in told
    assert name[:80] in await table.use("persona list", inn)
    await table.scene("Feast", inn)
    said = await anna.say(inn, f"<@{table.stage.discord.bot_user_id}> hello, my lady!")
    reply = await table.stage.discord.wait_for_message(inn, lambda one: one.id > said.id and one.webhook_id)
    assert 1 <= len(reply.author_name) <= 80
    assert "my lady" in reply.content
