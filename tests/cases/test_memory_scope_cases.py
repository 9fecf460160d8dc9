"""Field cases C33–C37: what is remembered stays where and whose it was, once, newest first, and unspoiled."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tests.cases.in_process import InProcess, feast, lay, running
from tests.cases.notes import fill, noted, notes_json, notes_over, numbered
from tests.discord_server import Channel, ScriptedUser
from tests.e2e.bot_process import Table, eventually, notes, plain, window
from tests.model_server import Fail, RecordedRequest, Say

pytestmark = pytest.mark.asyncio(loop_scope="module")
SETTINGS = {"context_tokens": 2048}
_LONG = "The caravan came over the hills with silk and copper and a long tale of sand and stars, day"


async def _ask(table: Table, who: ScriptedUser, channel: Channel, text: str) -> RecordedRequest:
    """Ask the persona of a place; the prompt of its answer."""
    said = await who.say(channel, text)
    await table.stage.discord.wait_for_message(
        channel, lambda one: one.id > said.id and one.author.id != who.id
    )
    found = [one for one in table.prompts() if f"{text}" in one.messages[-1][1]]
    return found[-1]


async def test_c33_four_places_never_know_of_each_other(tmp_path: Path) -> None:
    async with running(tmp_path, context_tokens=2048) as play:
        table, other = await lay(play, "Here"), await lay(play, "There")
        anna = table.member("Anna")
        play.discord.add_member(other.guild, anna)
        home = play.discord.dm(anna)
        places: dict[str, tuple[Channel, str]] = {}
        for word, (stage, name) in {
            "saffron": (table, "tavern"),
            "cinnabar": (table, "staff"),
            "obsidian": (other, "tavern"),
        }.items():
            channel = stage.channel(name)
            if name == "tavern":
                await stage.persona("Mira", channel)
            await stage.scene(f"Scene of {word}", channel, persona="Mira")
            places[word] = (channel, "Mira, ")
        form = await anna.slash("persona create", home)
        await (await anna.submit_modal(form, {"name": "Mira", "description": "A friend."})).answer()
        await table.use("scene start", home, anna, name="Scene of porphyry")
        places["porphyry"] = (home, "")
        play.model.set_script("reply", plain)
        for word, (channel, _) in places.items():
            await anna.say(channel, f"The secret word of this place is {word}, keep it well.")
            await fill(anna, channel, 12, _LONG)
        await play.indexed()

        async def matrix(again: str) -> None:
            for own, (channel, call) in places.items():
                prompt = await _ask(
                    table, anna, channel, f"{call}what is the secret word of this place {again}?"
                )
                known = {word for word in places if f"place is {word}" in prompt.text}
                assert known == {own}, again

        await matrix("now")
        await play.again()
        await matrix("after a restart")
        form = await table.moderator.slash("persona edit", places["saffron"][0], persona="Mira")
        modal = await form.modal()
        values = {key: one.get("value") or "" for key, one in modal.fields.items()} | {"name": "Mirabel"}
        await (await table.moderator.submit_modal(form, values)).answer()
        for word in ("saffron", "cinnabar"):
            places[word] = (places[word][0], "Mirabel, ")
        await matrix("after a rename")
        await _reuse(play, table, other, places["saffron"][0])
        play.check()


async def _reuse(play: InProcess, table: Table, other: Table, old: Channel) -> None:
    """The channel's id comes again in the other guild, where the persona of that guild plays."""
    caro = other.member("Caro")
    play.discord.delete_channel(old)
    again = play.discord.world.add_channel(other.guild, "again", kind="text", parent=None, overwrites=())
    for known in (other.guild.channels, play.discord.world.channels):
        known[old.id] = known.pop(again.id)
    again.id = old.id
    play.discord.channel_created(again)
    scenes = "SELECT 1 FROM scenes WHERE place_id = ?"
    await eventually(lambda: not play.stored(scenes, old.id), "the place is forgotten with its channel")
    assert "no scene in this channel" in await other.use("scene list", again)
    await caro.say(again, "Mirabel, what is the secret word of this place, before all?")
    assert "has begun" in await other.scene("Scene of the second", again, persona="Mira")
    prompt = await _ask(other, caro, again, "Mira, what is the secret word of this place?")
    assert not [word for word in ("saffron", "cinnabar", "obsidian", "porphyry") if word in prompt.text]
    assert "before all" not in prompt.text
    assert "is saffron" not in await other.use("memory search", again, query="What is the secret word?")
    assert not play.stored("SELECT 1 FROM turns WHERE text LIKE '%before all%'")


async def test_c34_a_fact_stays_with_whom_it_is_about(table: Table, running_bot: InProcess) -> None:
    inn, alice, bob = *await feast(table, member="Alice"), table.member("Bob")
    table.stage.model.set_script("reply", plain)
    reply = await table.talk(alice, inn, "Mira, I am allergic to nuts.", "Mira")
    await fill(bob, inn, 40, _LONG)
    await running_bot.indexed()
    table.stage.discord.set_nick(table.guild.members[alice.id], "Bob")
    prompt = await _ask(table, bob, inn, "Mira, what am I allergic to?")
    assert "allergic to nuts" not in window(prompt)
    (line,) = [one for one in notes(prompt).splitlines() if "allergic to nuts" in one]
    assert "Alice" in line
    owners = table.stage.stored(
        "SELECT owner_id, speaker FROM turns WHERE place_id = ? AND text LIKE '%allergic to nuts%'", inn.id
    )
    assert owners == [(alice.id, "Alice")]
    said = await alice.say(inn, "I am here under a new name.")
    await table.talk(bob, inn, "Mira, who spoke?", "Mira")
    assert table.stage.stored("SELECT owner_id FROM turns WHERE text LIKE '%under a new name%'") == [
        (alice.id,)
    ]
    table.stage.discord.remove_member(table.guild, alice.id)
    prompt = await _ask(table, bob, inn, "Mira, who was allergic to nuts?")
    assert any("Alice" in one and "nuts" in one for one in notes(prompt).splitlines())
    own = table.stage.stored("SELECT speaker, owner_id FROM turns WHERE text = ?", reply.content)
    assert own == [("Mira", 0)]
    assert said.id


async def test_c35_what_is_said_again_and_again_fills_no_recall(table: Table, running_bot: InProcess) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", plain)

    def same(request: RecordedRequest) -> Say:
        return Say(json.dumps(notes_over(request, text="Anna waits for the ferry.", keep=[])))

    table.stage.model.set_script("memory", same)
    await anna.say(inn, "My grandmother hid a ruby under the old mill.")
    for round_number in range(5):
        await fill(anna, inn, 10, f"The ferry is late again and again on this long grey river {round_number}")
        count = round_number + 1
        await eventually(lambda count=count: len(table.prompts(purpose="memory")) >= count, "a rewrite")
    await running_bot.indexed()
    facts = table.stage.stored(
        "SELECT count(*) FROM memories WHERE place_id = ? AND kind IN ('fact', 'snapshot') "
        "AND text = 'Anna waits for the ferry.' AND superseded_by IS NULL",
        inn.id,
    )
    assert facts[0][0] <= 2
    prompt = await _ask(table, anna, inn, "Mira, where did my grandmother hide the ruby?")
    recalled = [line.strip() for line in notes(prompt).splitlines() if line.strip()]
    assert any("under the old mill" in line for line in recalled) or "under the old mill" in window(prompt)
    assert len(recalled) == len(set(recalled))
    prompt = await _ask(table, anna, inn, "Mira, what about the ferry on the river?")
    told = [line.rpartition("] ")[2] for line in notes(prompt).splitlines() if "ferry" in line]
    assert len(told) == len(set(told))


async def test_c36_the_newer_fact_wins(tmp_path: Path) -> None:
    async with running(tmp_path, context_tokens=2048) as play:
        table = await lay(play, "Tavern")
        inn, alice = await feast(table, member="Alice")
        play.model.set_script("reply", plain)
        play.model.set_script("memory", _horses)
        for text in ("My horse is called Storm.", "Storm died; my new horse is called Ember."):
            await alice.say(inn, text)
            await fill(alice, inn, 20, _LONG)
            await noted(table, inn, text.rpartition(" ")[2].strip("."))
            await play.indexed()
            play.discord.advance(4 * 86_400)
            play.clock.ahead += timedelta(days=4)
        prompt = await _ask(table, alice, inn, "Mira, saddle my horse, what is its name?")
        lines = [line for line in notes(prompt).splitlines() if "Storm" in line or "Ember" in line]
        *old, newest = lines
        assert newest.endswith("Alice's horse is called Ember.")
        assert old
        assert all(line.startswith("- [earlier, until ") and "Storm" in line for line in old)
        assert all("ago" in line for line in lines)
        assert "the newer holds" in prompt.text


def _horses(request: RecordedRequest) -> Say:
    """One fact for each horse that the turns name; the second replaces the first where it is shown."""
    turns = numbered(request)
    found = notes_over(request, text="They wait for the caravan.", facts=[])
    for name in ("Storm", "Ember"):
        sources = [number for number, said in turns if f"called {name}" in said]
        if sources:
            text = f"Alice's horse is called {name}."
            shown = "horse is called Storm" in request.text.partition("<turns>")[0]
            replaces = [1] if name == "Ember" and shown else []
            found["facts"].append(
                {"about": "Alice", "kind": "person", "text": text, "turns": sources, "replaces": replaces}
            )
            found["lines"].append({"section": "people", "text": text, "turns": sources})
    return Say(json.dumps(found))


_JUNK = {
    "politeness": Say("Certainly!"),
    "nothing": Say(""),
    "refusal": Say("I'm sorry, but I can't assist with that."),
    "question": Say("Which notes do you mean?"),
    "very long": Say(json.dumps({"lines": [{"text": "x" * 40_000}]})),
    "other json": Say('{"weather": "fine"}'),
    "in character": Say("*Mira wipes the counter.* So you came back!"),
    "cut": Say('{"keep": [], "lines": [{"section": "threads", "text": "Anna is a', finish="length"),
    "empty notes": Say('{"keep": [], "lines": [], "facts": []}'),
    "server error": Fail(400, {"error": {"message": "no"}}),
}


@pytest.mark.parametrize("kind", _JUNK)
async def test_c37_junk_never_replaces_the_notes(table: Table, running_bot: InProcess, kind: str) -> None:
    inn, anna = await feast(table)
    good = "Anna promised to bring back the silver key."
    table.stage.model.set_script("memory", lambda one: Say(notes_json(one, text=good)))
    await fill(anna, inn)
    await noted(table, inn, good)
    await eventually(lambda: not running_bot.app.troupe.summariser.busy, "the first notes")
    before = len(table.prompts(purpose="memory"))
    table.stage.model.set_script("memory", lambda _: _JUNK[kind])
    await fill(anna, inn, 10, "More of it, number")
    await eventually(lambda: len(table.prompts(purpose="memory")) > before, "a call")
    await eventually(lambda: not running_bot.app.troupe.summariser.busy, "its end")
    assert good in await table.use("memory scratchpad", inn)
    assert (
        table.stage.stored(
            "SELECT count(*) FROM scratchpad_revisions JOIN scenes ON scenes.id = scene_id "
            "WHERE place_id = ?",
            inn.id,
        )[0][0]
        <= 2
    )
    table.stage.model.set_script("memory", lambda one: Say(notes_json(one, text="Anna kept her promise.")))
    running_bot.clock.ahead += timedelta(minutes=1)  # tried again after a while
    try:
        await anna.say(inn, "And one more line.")
        await noted(table, inn, "Anna kept her promise.")
    finally:
        running_bot.clock.ahead = timedelta()
    assert good in await table.use("memory scratchpad", inn)  # kept by its number


async def test_c37_what_a_rewrite_replaces_is_kept_as_a_memory(table: Table) -> None:
    inn, anna = await feast(table)
    old, new = "Anna promised to bring back the silver key.", "Anna has brought back the silver key."
    table.stage.model.set_script("memory", lambda one: Say(notes_json(one, text=old)))
    await fill(anna, inn)
    await noted(table, inn, old)

    def replaced(request: RecordedRequest) -> Say:
        line = {"section": "threads", "text": new, "turns": [1], "from": [1]}
        return Say(json.dumps(notes_over(request, keep=[], lines=[line], facts=[])))

    table.stage.model.set_script("memory", replaced)
    await fill(anna, inn, 10, "More of it, number")
    await noted(table, inn, new)
    kept = table.stage.stored(
        "SELECT count(*) FROM memories WHERE place_id = ? AND kind = 'snapshot' AND text = ?", inn.id, old
    )
    assert kept == [(1,)]
    used = await table.moderator.slash("memory scratchpad", inn)
    now = await used.answer()
    assert new in now.text
    assert old not in now.text
    before = await (await table.moderator.select(now, "Earlier notes …", "0")).answer()
    assert old in before.text
    done = await (await table.moderator.click(before, "Restore")).answer()
    assert "the newest again" in done.text
    assert old in await table.use("memory scratchpad", inn)
    await table.talk(anna, inn, "Mira, and now?", "Mira")
    system = next(content for role, content in table.prompts()[-1].messages if role == "system")
    assert old in system
