"""Scenes as members play them, with the bot in its own process: talk, switch, edit, delete, notes, recall."""

from __future__ import annotations

import asyncio

import pytest

from tests.discord_server import Channel, Message
from tests.e2e.bot_process import Table, eventually, notes, plain, rewriting, window
from tests.model_server import Say

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_moderator_makes_a_persona_and_it_greets_and_answers(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    assert "Mira" in await table.persona("Mira", inn, greeting="Welcome to the Lantern!", personality="Warm.")
    assert "Mira" in await table.scene("Feast", inn, location="The hall")
    told, greeting = [one for one in await _shown(table, inn, 2) if not one.ephemeral]
    assert "remembered" in told.content
    assert told.author.id == table.stage.discord.bot_user_id
    assert (greeting.author_name, greeting.content) == ("Mira", "Welcome to the Lantern!")
    assert greeting.webhook_id == table.stage.discord.webhooks_of(inn)[0].id
    reply = await table.talk(anna, inn, "Good evening, Mira!", "Mira")
    assert "Good evening, Mira!" in reply.content
    (prompt,) = table.prompts()
    assert "Warm." in prompt.messages[0][1]
    assert "The hall" in prompt.messages[0][1]
    assert "Anna: Good evening, Mira!" in window(prompt)
    everything = [one.content for one in table.stage.discord.messages(inn)]
    assert sum("remembered" in text for text in everything) == 1


async def test_members_channels_and_threads_are_kept_apart(table: Table) -> None:
    inn, yard = table.channel("inn"), table.channel("yard")
    anna, ben, cleo = (table.member(name) for name in ("Anna", "Ben", "Cleo"))
    table.stage.model.set_script("reply", plain)
    await table.persona("Mira", inn)
    cellar = await anna.create_thread(inn, "Cellar")
    words = {inn: "copper", yard: "silver", cellar: "walnut"}
    for place, word in words.items():
        await table.scene(f"About {word}", place)
    for place, word in words.items():
        await anna.say(place, f"I lost my {word} coin.")
        await ben.say(place, f"No {word} coin here.")
        await table.talk(cleo, place, f"Mira, who has the {word} coin?", "Mira")
    for place, word in words.items():
        await table.talk(anna, place, f"Mira, look for {word} again!", "Mira")
        others = set(words.values()) - {word}
        prompts = table.prompts(f"About {word}")
        assert len(prompts) == 2
        assert not any(other in prompt.text for prompt in prompts for other in others)
        shown = window(prompts[-1]).splitlines()
        assert f"Anna: I lost my {word} coin." in shown
        assert f"Ben: No {word} coin here." in shown
        assert f"Cleo: Mira, who has the {word} coin?" in shown
        assert f"Anna: Mira, look for {word} again!" in shown
    hooks = {place: {one.webhook_id for one in table.spoken(place)} for place in words}
    assert hooks[cellar] == hooks[inn]
    assert [len(found) for found in hooks.values()] == [1, 1, 1]
    assert len(table.stage.discord.webhooks_of(inn)) == len(table.stage.discord.webhooks_of(yard)) == 1


async def test_switching_brings_back_window_cast_location_and_aliases(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    table.stage.model.set_script("reply", plain)
    await table.persona("Mira", inn)
    await table.persona("Bram", inn)
    await table.scene("Feast", inn, persona="Mira", location="The hall")
    await table.use("alias use", inn, anna, name="Captain Rook")
    await table.talk(anna, inn, "Mira, the goose is burnt.", "Mira")
    await table.scene("Storm", inn, persona="Bram", location="The harbour")
    await table.talk(anna, inn, "Bram, the mast is broken.", "Bram")
    storm = table.prompts()[-1]
    assert "The harbour" in storm.text
    assert "The hall" not in storm.messages[0][1]
    assert "goose" not in window(storm)
    assert "Anna: Bram, the mast is broken." in window(storm)
    (choice,) = await table.moderator.autocomplete("scene switch", inn, option="scene", value="fe")
    await table.use("scene switch", inn, scene=choice["value"])
    line = await table.note(inn, "Back to")
    assert "Feast" in line.content
    assert "The hall" in line.content
    assert "Mira" in line.content
    await table.talk(anna, inn, "Mira, is there more?", "Mira")
    feast = table.prompts()[-1]
    assert "The hall" in feast.messages[0][1]
    assert "Captain Rook: Mira, the goose is burnt." in window(feast)
    assert "Captain Rook: Mira, is there more?" in window(feast)
    assert "mast" not in window(feast)
    bram = await anna.say(inn, "Bram, where are you?")
    reply = await table.talk(anna, inn, "Mira, call him!", "Mira")
    assert not [one for one in table.spoken(inn, ["Bram"]) if one.id > bram.id]
    assert reply


async def test_notes_follow_the_scene_and_leave_with_the_turns_they_come_from(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    table.stage.model.set_script("reply", plain)
    about = {"goose": "Anna owes Mira a goose.", "lantern": "Ben broke the lantern."}
    table.stage.model.set_script("memory", rewriting(about))
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    debt = await anna.say(inn, "I owe you a goose.")
    await anna.say(inn, "Ben broke the lantern.")
    for number in range(9):
        await anna.say(inn, f"A cup of tea, the {number}.")
    scratchpad = await _scratchpad(table, inn, "goose")
    assert "lantern" in scratchpad
    await table.talk(anna, inn, "Mira, what now?", "Mira")
    assert "Anna owes Mira a goose." in table.prompts()[-1].messages[0][1]
    await table.scene("Storm", inn, story="Another story")
    assert "goose" not in await table.use("memory scratchpad", inn)
    await table.use("scene switch", inn, scene="Feast")
    assert "goose" in await table.use("memory scratchpad", inn)
    await anna.delete(debt)
    await table.talk(anna, inn, "Mira, and now?", "Mira")
    prompt = table.prompts()[-1]
    assert "goose" not in prompt.text
    assert "lantern" in prompt.messages[0][1]
    assert "goose" not in await table.use("memory scratchpad", inn)
    assert not table.stage.stored("SELECT text FROM scratchpad_lines WHERE text LIKE '%goose%'")


async def test_edits_and_deletions_reach_window_memory_and_prompts(table: Table) -> None:
    inn, anna, ben = table.channel(), table.member("Anna"), table.member("Ben")
    table.stage.model.set_script("reply", plain)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    edited = await anna.say(inn, "The treasure lies under the oak.")
    deleted = await ben.say(inn, "The password is marzipan.")
    await table.talk(anna, inn, "Mira, did you hear?", "Mira")
    assert "under the oak" in window(table.prompts()[-1])
    assert "marzipan" in window(table.prompts()[-1])
    await anna.edit(edited, "The treasure lies under the birch.")
    await ben.delete(deleted)
    await table.talk(anna, inn, "Mira, did you hear now?", "Mira")
    prompt = table.prompts()[-1]
    assert "Anna: The treasure lies under the birch." in window(prompt)
    assert "under the oak" not in prompt.text
    assert "marzipan" not in prompt.text
    assert "birch" in await table.use("memory search", inn, query="Where is the treasure?")
    assert "marzipan" not in await table.use("memory search", inn, query="the password")
    assert not table.stage.stored("SELECT text FROM turns WHERE text LIKE '%marzipan%'")


async def test_a_bulk_deletion_is_forgotten_whole(table: Table) -> None:
    inn, anna = table.channel(), table.member("Anna")
    table.stage.model.set_script("reply", plain)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    purged = [await anna.say(inn, f"Spam about pepper, part {number}.") for number in range(12)]
    await table.talk(anna, inn, "Mira, so much noise!", "Mira")
    assert "pepper" in window(table.prompts()[-1])
    await table.moderator.bulk_delete(purged)
    await table.talk(anna, inn, "Mira, better now?", "Mira")
    assert "pepper" not in table.prompts()[-1].text
    assert "pepper" not in await table.use("memory search", inn, query="spam in many parts")
    assert not table.stage.stored("SELECT text FROM turns WHERE text LIKE '%pepper%'")


async def test_a_deletion_and_an_edit_reach_a_reply_in_the_making(table: Table) -> None:
    inn, anna, ben = table.channel(), table.member("Anna"), table.member("Ben")
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    model = table.stage.model
    never = asyncio.Event()
    model.set_script("reply", [Say("Too late.", gate=never)])
    gone = await anna.say(inn, "Mira, this was a mistake.")
    await model.wait_until(lambda _: table.prompts("this was a mistake"))
    await anna.delete(gone)
    model.set_script("reply", [Say("Too late.", gate=never), Say("The blue one it is.")])
    changed = await ben.say(inn, "Mira, the red cup, please.")
    await model.wait_until(lambda _: table.prompts("the red cup"))
    await ben.edit(changed, "Mira, the blue cup, please.")
    reply = await table.reply_to(changed, "Mira")
    assert reply.content == "The blue one it is."
    assert [one.content for one in table.spoken(inn)] == ["The blue one it is."]
    last = table.prompts()[-1]
    assert "this was a mistake" not in last.text
    assert "the red cup" not in last.text


async def test_what_was_said_200_turns_ago_is_recalled_by_its_meaning(table: Table) -> None:
    inn, anna, ben = table.channel(), table.member("Anna"), table.member("Ben")
    table.stage.model.set_script("reply", plain)
    await table.persona("Mira", inn)
    await table.scene("Feast", inn)
    await anna.say(inn, "My grandmother buried an emerald ring beneath the willow by the mill.")
    things = ("bread", "rain", "horses", "candles", "songs", "fishing", "boots", "apples", "maps", "bells")
    for number in range(200):
        who, thing = (anna, ben)[number % 2], things[number % len(things)]
        await who.say(inn, f"Let us talk about {thing} for a while, that makes {number} times by now.")
    await eventually(lambda: not _unindexed(table, inn), "everything is indexed", 40)
    await table.talk(ben, inn, "Mira, where did granny hide the green jewel?", "Mira")
    prompt = table.prompts()[-1]
    assert "emerald" not in window(prompt)
    assert "Anna: My grandmother buried an emerald ring" in notes(prompt)


def _unindexed(table: Table, channel: Channel) -> bool:
    query = (
        "SELECT (SELECT count(*) FROM turns WHERE place_id = ? AND persona_id IS NULL) < 201 OR "
        "EXISTS (SELECT * FROM memories WHERE place_id = ? AND indexed_by IS NULL)"
    )
    return bool(table.stage.stored(query, channel.id, channel.id)[0][0])


async def _scratchpad(table: Table, channel: Channel, word: str) -> str:
    """The notes once they hold a word; they are written in the background."""
    await eventually(
        lambda: table.stage.stored("SELECT 1 FROM scratchpad_lines WHERE text LIKE ?", f"%{word}%"),
        "the notes are written",
    )
    return await table.use("memory scratchpad", channel)


async def _shown(table: Table, channel: Channel, count: int) -> list[Message]:
    await table.stage.discord.until(
        lambda: len([one for one in table.stage.discord.messages(channel) if not one.ephemeral]) >= count,
        20,
        f"{count} messages",
    )
    return table.stage.discord.messages(channel)
