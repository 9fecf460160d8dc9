"""Field cases C07, C08, C14, C18 and C19: threads, lacking permissions, files, direct messages, mentions."""

from __future__ import annotations

import pytest

from tests.cases.commands import leaves, sample
from tests.cases.in_process import InProcess, feast, lay, since
from tests.discord_server import Channel, Permission
from tests.e2e.bot_process import Table, echo, eventually, window
from tests.model_server import Fail, Say

pytestmark = pytest.mark.asyncio(loop_scope="module")

_POLL = {
    "question": {"text": "Tea?"},
    "answers": [{"answer_id": 1, "poll_media": {"text": "Yes"}}],
    "expiry": "2099-01-01T00:00:00+00:00",
    "allow_multiselect": False,
    "layout_type": 1,
}
_PICTURE = b"\x89PNG\r\n\x1a\n" + b"\0" * 64


async def _thread(table: Table, kind: str) -> Channel:
    """One of the three ways in which a thread begins."""
    anna, inn = table.member("Anna"), table.channel()
    if kind == "forum post":
        return await anna.create_post(table.channel("forum", kind="forum"), "A tale", "Who tells the tale?")
    if kind == "voice channel":  # its text; it has webhooks of its own
        return table.channel("hall", kind="voice")
    if kind == "of news":
        return await anna.create_thread(table.channel("news", kind="news"), "whispers")
    if kind == "from a message":
        said = await anna.say(inn, "Let us whisper.")
        return await anna.create_thread(inn, "whispers", message=said)
    return await anna.create_thread(inn, "whispers")


@pytest.mark.parametrize(
    "kind", ["public thread", "forum post", "from a message", "of news", "voice channel"]
)
async def test_c07_threads_and_forum_posts_are_places_of_their_own(
    table: Table, running_bot: InProcess, kind: str
) -> None:
    inn, anna = await feast(table)
    await table.talk(anna, inn, "Mira, the parent knows of saffron.", "Mira")
    thread = await _thread(table, kind)
    assert "no active scene" in await table.use("scene show", thread)  # a thread starts with an empty list
    assert "no scene in this channel" in await table.use("scene list", thread)
    await table.scene("Whispers", thread, persona="Mira")
    seen = since(running_bot)
    said = await anna.say(thread, "Mira, do you hear me in here?")
    reply = await table.reply_to(said, "Mira")
    assert reply.channel_id == thread.id
    (sent,) = [one for one in seen() if one.template == "/webhooks/{webhook_id}/{webhook_token}"]
    home = thread.parent_id or thread.id
    assert sent.query.get("thread_id") == (str(thread.id) if thread.parent_id else None)
    webhook = table.stage.discord.world.webhooks[int(sent.params["webhook_id"])]
    assert webhook.channel_id == home
    prompt = table.prompts("do you hear me in here?")[-1]
    assert "saffron" not in prompt.text
    await table.talk(anna, inn, "Mira, and out here?", "Mira")
    assert "hear me in here" not in table.prompts()[-1].text


async def test_c08_the_start_of_a_scene_names_the_missing_permission(table: Table) -> None:
    inn = table.channel()
    await table.persona("Mira", inn)
    bot = table.stage.discord.world.bot
    table.stage.discord.set_overwrite(inn, bot, deny=Permission.SEND_MESSAGES)
    told = await table.scene("Feast", inn)
    assert "Send Messages" in told
    assert f"<#{inn.id}>" in told
    assert not table.stage.stored("SELECT 1 FROM scenes WHERE place_id = ?", inn.id)
    table.stage.discord.set_overwrite(inn, bot, deny=Permission.MANAGE_WEBHOOKS)
    told = await table.scene("Feast", inn)
    assert "Manage Webhooks" in told
    assert "has begun" in told


async def test_c08_settings_and_cast_name_it_too_while_a_scene_runs(table: Table) -> None:
    inn, _ = await feast(table)
    await table.persona("Sol", inn)
    table.stage.discord.set_overwrite(
        inn, table.stage.discord.world.bot, deny=Permission.SEND_MESSAGES | Permission.MANAGE_WEBHOOKS
    )
    for told in (
        await table.use("settings show", inn),
        await table.use("scene cast add", inn, persona="Sol"),
    ):
        assert "Send Messages" in told
        assert "Manage Webhooks" in told
        assert f"<#{inn.id}>" in told


async def test_c08_without_permission_to_send_there_is_no_storm(table: Table, running_bot: InProcess) -> None:
    inn, anna = await feast(table)
    bot = table.stage.discord.world.bot
    table.stage.discord.set_overwrite(inn, bot, deny=Permission.SEND_MESSAGES | Permission.MANAGE_WEBHOOKS)
    for webhook in table.stage.discord.webhooks_of(inn):  # an existing one needs no permission
        table.stage.discord.delete_webhook(webhook)
    await table.use("settings show", inn)
    seen = since(running_bot)
    lines = len(running_bot.log)
    await anna.say(inn, "Mira, hello!")
    await eventually(
        lambda: [one for one in seen() if one.template.endswith("/messages") and one.status == 403],
        "a refusal",
    )
    await running_bot.app.troupe.delivery.quiet([inn.id], 5)
    refused = [one for one in seen() if one.status == 403]
    assert len([one for one in refused if one.template.endswith("/messages")]) == 1
    assert len(refused) <= 4
    assert len([one for one in running_bot.log[lines:] if "does not take the message" in one]) == 1
    table.stage.discord.set_overwrite(inn, bot)
    said = await anna.say(inn, "Mira, and now?")
    reply = await table.stage.discord.wait_for_message(
        inn, lambda one: one.id > said.id and "now?" in one.content
    )
    assert "Mira" in reply.content or reply.author_name == "Mira"


async def test_c08_without_access_to_webhooks_the_name_stands_before_the_words(
    table: Table, running_bot: InProcess
) -> None:
    inn, anna = table.channel(), table.member("Anna")
    await table.persona("Mira", inn)
    fault = running_bot.discord.fail_next(
        "GET", rf"/channels/{inn.id}/webhooks", status=403, code=50001, message="Missing Access", times=9
    )
    assert "plain messages" in await table.scene("Feast", inn)
    await anna.say(inn, "Mira, hello!")
    assert "hello!" in (await table.note(inn, "**Mira**\n")).content
    assert fault.hits == 1


async def test_c14_a_message_with_only_files_is_answered(table: Table) -> None:
    inn, anna = await feast(table)
    reply = await table.talk(anna, inn, "Mira, look!", "Mira")
    said = await anna.say(inn, reply_to=reply, attachments=[("cat.png", _PICTURE)])
    await table.reply_to(said, "Mira")
    assert "[Anna shows a picture: cat.png]" in window(table.prompts()[-1])
    three = [("a.txt", b"1"), ("song.mp3", b"2", "audio/mpeg"), ("b.zip", b"3")]
    said = await anna.say(inn, reply_to=reply, attachments=three)
    await table.reply_to(said, "Mira")
    for note in ("a file: a.txt", "a recording: song.mp3", "a file: b.zip"):
        assert f"[Anna shows {note}]" in window(table.prompts()[-1])
    said = await anna.say(inn, "Mira, with words.", attachments=[("cat.png", _PICTURE)])
    await table.reply_to(said, "Mira")
    assert "Mira, with words." in window(table.prompts()[-1])
    assert all(content.strip() for prompt in table.prompts() for _, content in prompt.messages)
    assert not table.stage.stored("SELECT 1 FROM turns WHERE place_id = ? AND trim(text) = ''", inn.id)


@pytest.mark.parametrize("kind", ["sticker", "poll", "forward", "embed"])
async def test_c14_other_messages_without_text(table: Table, kind: str) -> None:
    inn, anna = await feast(table)
    reply = await table.talk(anna, inn, "Mira, look!", "Mira")
    if kind == "embed":  # a card of a link or app: nothing that a member said
        await anna.say(inn, reply_to=reply, embeds=[{"title": "A page"}])
    else:
        more = {
            "sticker": {"stickers": ["Wave"]},
            "poll": {"poll": _POLL},
            "forward": {"forward": reply},
        }[kind]
        await anna.say(inn, **more, **({} if kind == "forward" else {"reply_to": reply}))
    await table.talk(anna, inn, "Mira, well?", "Mira")
    assert all(content.strip() for prompt in table.prompts() for _, content in prompt.messages)
    assert not table.stage.stored("SELECT 1 FROM turns WHERE place_id = ? AND trim(text) = ''", inn.id)
    word = {"sticker": "sticker: Wave", "poll": "Tea?", "forward": "forwards", "embed": "Mira, well?"}[kind]
    assert word in table.prompts()[-1].text


async def test_c18_a_direct_message_has_its_own_memory_and_no_webhook(
    table: Table, running_bot: InProcess
) -> None:
    inn, anna = await feast(table)
    await table.talk(anna, inn, "Mira, the guild has saffron.", "Mira")
    home = running_bot.discord.dm(anna)
    seen = since(running_bot)
    form = await anna.slash("persona create", home)
    await (await anna.submit_modal(form, {"name": "Mira", "description": "A friend."})).answer()
    assert "has begun" in await table.use("scene start", home, anna, name="Two of us")
    await anna.say(home, "Hello, do you know of spices?")
    await table.note(home, "know of spices?")
    assert "saffron" not in table.prompts("Two of us")[-1].text
    assert not [one for one in seen() if "webhook" in one.path and one.template.startswith("/channels")]
    assert all(one.status and one.status < 400 for one in seen())


async def test_c18_every_command_answers_in_a_direct_message(table: Table, running_bot: InProcess) -> None:
    discord, anna = running_bot.discord, running_bot.discord.add_user("Anna")
    home = discord.dm(anna)
    lines = []
    for command in discord.commands[None].values():
        if command["type"] != 1 or 1 not in (command.get("contexts") or [0, 1]):
            continue
        for path, options in leaves(command):
            needed = [one for one in options if one.get("required")]
            if any(one["type"] == 7 for one in needed):
                continue  # Discord has no channel of a server to offer there
            given = {one["name"]: sample(one) for one in needed}
            used = await anna.slash(path, home, options=given)
            kind = await used.acked()
            if kind != 9:
                answer = await used.answer()
                assert answer.ephemeral, path
                lines.append(f"{path}: {answer.text}")
    assert len(lines) > 20
    assert not [line for line in lines if "went wrong" in line]


async def test_c19_mentions_and_emoji_are_words_for_the_model(table: Table) -> None:
    inn, anna = await feast(table)
    bob, yard = table.member("Bob", nick="Bobby"), table.channel("yard")
    role = table.stage.discord.add_role(table.guild, "Guards", mentionable=True)
    said = await anna.say(
        inn,
        f"Mira! <@{bob.id}> hugged <@222333444555666777> in <#{yard.id}> with <@&{role.id}> "
        "<:blobcat:444555666777888999> <a:party:444555666777888990> <t:1700000000:R>",
    )
    table.stage.model.set_script(
        "reply",
        [
            Say(
                "@Bobby waves :blobcat: and <:blobcat:123456789012345678> at <@999999999999999999> "
                "in <#888888888888888888>."
            ),
            echo,
        ],
    )
    reply = await table.reply_to(said, "Mira")
    (prompt,) = table.prompts()
    assert "@Bobby hugged @someone in #yard with @Guards :blobcat: :party:" in window(prompt)
    for number in (bob.id, "222333444555666777", yard.id, role.id, "444555666777888999", "1700000000"):
        assert str(number) not in prompt.text
    assert reply.content == "@Bobby waves :blobcat: and :blobcat: at in."
    (stored,) = table.stage.stored("SELECT text FROM turns WHERE place_id = ? AND text LIKE 'Mira!%'", inn.id)
    assert "@Bobby hugged" in stored[0]
    assert "<@" not in stored[0]
    found = await table.use("memory search", inn, query="Whom did Bobby hug?")
    assert "@Bobby hugged" in found


async def test_c19_a_notice_instead_of_an_answer_calls_nobody(table: Table) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", lambda _: Fail(401))
    await anna.say(inn, f"Mira, <@{anna.id}> asks.")
    notice = await table.note(inn, "cannot answer")
    assert not notice.mentions


async def test_c18_what_a_member_says_in_a_guild_stays_out_of_direct_messages(
    table: Table, running_bot: InProcess
) -> None:
    """Two guilds and two direct messages with the same words."""
    other = await lay(running_bot, "Elsewhere")
    anna, ben = running_bot.discord.add_user("Anna"), running_bot.discord.add_user("Ben")
    for who in (anna, ben):
        home = running_bot.discord.dm(who)
        form = await who.slash("persona create", home)
        await (await who.submit_modal(form, {"name": "Mira", "description": "A friend."})).answer()
        await table.use("scene start", home, who, name=f"With {who.name}")
        await who.say(home, f"The password of {who.name} is swordfish.")
        await table.note(home, "swordfish")
    inn, caro = await feast(other, member="Caro")
    await other.talk(caro, inn, "Mira, what is the password?", "Mira")
    assert "swordfish" not in other.prompts("Feast")[-1].text
    await ben.say(running_bot.discord.dm(ben), "What is the password?")
    await table.note(running_bot.discord.dm(ben), "What is the password?")
    assert "password of Anna" not in table.prompts("With Ben")[-1].text
