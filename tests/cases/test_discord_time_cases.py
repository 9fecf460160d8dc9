"""Field cases C09–C11, C16 and C17: slow models, many speakers at once, deletions and edits meanwhile."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from itertools import pairwise

import pytest

import bot.engine.conversation
from bot.core.events import snowflake
from bot.core.types import Place
from tests.cases.commands import leaves, sample
from tests.cases.in_process import InProcess, feast, since, unbounded
from tests.discord_server import BOT_DEFAULT, Permission, ScriptedUser
from tests.e2e.bot_process import Table, asked, echo, eventually, plain, rewriting, window
from tests.model_server import Behaviour, Fail, RecordedRequest, Say

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class Late(Behaviour):
    """Another behaviour, once the gate is open."""

    gate: asyncio.Event
    then: Behaviour

    async def play(self, exchange: object) -> None:
        await self.gate.wait()
        await self.then.play(exchange)  # type: ignore[arg-type]


async def test_c09_commands_are_acknowledged_while_everything_is_slow(
    table: Table, running_bot: InProcess
) -> None:
    inn, anna = await feast(table)
    await table.talk(anna, inn, "Mira, the saffron lies in the cellar.", "Mira")
    gate = asyncio.Event()
    table.stage.model.set_script("reply", [Say("At last.", gate=gate)])
    await anna.say(inn, "Mira, think long!")
    running_bot.encoder.delay = 3.5  # longer than Discord waits
    entries = [{"keys": [f"key{at}"], "content": f"Lore {at}. " * 800} for at in range(280)]
    book = {"name": "World", "extensions": {}, "entries": entries}
    card = {"spec": "chara_card_v2", "data": {"name": "Big", "description": "Big.", "character_book": book}}
    raw = json.dumps(card).encode()
    assert len(raw) > 2_000_000
    searching = await table.moderator.slash("memory search", inn, query="Where is the saffron?")
    importing = await table.moderator.slash("persona import", inn, card=("big.json", raw))
    assert await searching.acked() == await importing.acked() == 5  # deferred
    assert "**Big**" in (await importing.answer(20)).text
    found = await searching.answer(20)
    assert "saffron" in found.text
    assert found.ephemeral
    running_bot.encoder.delay = 0.0
    gate.set()
    await table.stage.discord.wait_for_message(inn, lambda one: one.content == "At last.")


async def test_c09_every_command_is_acknowledged_while_everything_is_slow(
    table: Table, running_bot: InProcess
) -> None:
    """All at once, as a moderator, while a reply is written and the encoder is slower than Discord waits."""
    inn, anna = await feast(table)
    await table.talk(anna, inn, "Mira, the saffron lies in the cellar.", "Mira")
    gate = asyncio.Event()
    table.stage.model.set_script("*", lambda _: Say("At last.", gate=gate))
    table.stage.model.set_script("reply", lambda _: Say("At last.", gate=gate))
    await anna.say(inn, "Mira, think long!")
    running_bot.encoder.delay = 3.5
    ids = {6: anna, 7: inn}
    given = [
        (path, {one["name"]: sample(one, ids) for one in options if one.get("required")})
        for command in running_bot.discord.commands[None].values()
        if command["type"] == 1
        for path, options in leaves(command)
    ]
    assert len(given) > 40
    used = [await table.moderator.slash(path, inn, options=options) for path, options in given]
    kinds = await asyncio.gather(*(one.acked() for one in used))
    running_bot.encoder.delay = 0.0
    gate.set()
    for (path, _), one, kind in zip(given, used, kinds, strict=True):
        if kind != 9:  # a form
            answer = await one.answer(30)
            assert answer.ephemeral, path
            assert "went wrong" not in answer.text, path


async def test_c10_typing_is_refreshed_as_often_as_discord_forgets_it() -> None:
    assert 8 <= bot.engine.conversation.TYPING_SECONDS <= 9


@pytest.mark.parametrize("ending", ["answer", "failure", "deleted question"])
async def test_c10_typing_shows_only_while_an_answer_comes(
    table: Table, running_bot: InProcess, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(bot.engine.conversation, "TYPING_SECONDS", 0.2)
    inn, anna = await feast(table)
    seen = since(running_bot)

    def typed() -> list[float]:
        return [one.at for one in seen() if one.template == "/channels/{channel_id}/typing"]

    await anna.say(inn, "Nobody in particular is meant.")
    gate = asyncio.Event()
    then = Fail(401) if ending == "failure" else Say("There you are.")
    table.stage.model.set_script("reply", [Late(gate, then)])
    said = await anna.say(inn, "Mira, take your time!")
    await eventually(lambda: len(typed()) >= 4, "typing four times")
    if ending == "deleted question":
        await anna.delete(said)
        await eventually(lambda: table.prompts()[-1].closed_by_client, "the call is given up")
    gate.set()
    if ending != "deleted question":
        text = "cannot answer" if ending == "failure" else "There you are."
        await table.stage.discord.wait_for_message(inn, lambda one: text in one.content)
    count = len(typed())
    await asyncio.sleep(0.7)  # three refreshes would fit
    assert len(typed()) <= count
    gaps = [later - earlier for earlier, later in pairwise(typed())]
    assert min(gaps) < 1.5  # the others may be longer on a busy machine
    assert all(gap > 0.15 for gap in gaps)
    sends = [one.at for one in seen() if one.template == "/webhooks/{webhook_id}/{webhook_token}"]
    assert all(at <= sends[0] for at in typed()) if sends else True


async def test_c10_an_answer_at_once_types_once_at_most(table: Table, running_bot: InProcess) -> None:
    inn, anna = await feast(table)
    seen = since(running_bot)
    await table.talk(anna, inn, "Mira, quick!", "Mira")
    assert len([one for one in seen() if one.template == "/channels/{channel_id}/typing"]) <= 1


def _tale(number: int) -> str:
    return " ".join(f"Tale {number} has a sentence with the number {at} in it." for at in range(110))


async def test_c11_two_at_once_get_whole_answers_one_after_the_other(table: Table) -> None:
    inn, anna, ben = *await feast(table), table.member("Ben")
    table.stage.model.set_script(
        "reply", [Say(_tale(1), chunks=[_tale(1)], delay=0.3), Say(_tale(2), chunks=[_tale(2)])]
    )
    await asyncio.gather(anna.say(inn, "Mira, I open the door!"), ben.say(inn, "Mira, I shut the door!"))
    await table.stage.discord.until(
        lambda: (
            len(table.spoken(inn)) in (3, 6)
            and table.spoken(inn)[-1].content.endswith("109 in it.")
            and sum(len(asked(one)) for one in table.prompts()) >= 2
        ),
        15,
    )
    parts = [one.content for one in table.spoken(inn)]
    whole = " ".join(parts)
    assert whole in (_tale(1), f"{_tale(1)} {_tale(2)}")
    last = window(table.prompts()[-1])
    assert "Anna: Mira, I open the door!" in last
    assert "Ben: Mira, I shut the door!" in last
    heard = [text for prompt in table.prompts() for text in asked(prompt)]
    assert sorted(heard) == ["Mira, I open the door!", "Mira, I shut the door!"]


async def test_c11_fifty_channels_do_not_hold_each_other_up(table: Table, running_bot: InProcess) -> None:
    engine, discord = running_bot.app.troupe, running_bot.discord
    await unbounded(running_bot, table)
    mira = await engine.personas.create(table.guild.id, name="Mira", description="An innkeeper.")
    channels = [discord.add_channel(table.guild, f"room-{number}") for number in range(50)]
    people = [table.member("Anna"), table.member("Ben")]
    for channel in channels:
        place = Place(channel.id, table.guild.id, channel.name)
        after = snowflake(running_bot.clock()) - (1 << 22)
        await engine.scenes.start(place, name="Feast", persona_id=mira.id, after=after)
    gate = asyncio.Event()
    slow = f"Mira, in {channels[0].name} by Anna"

    def script(request: object) -> Behaviour:
        return Say("Slow.", gate=gate) if slow in asked(request) else echo(request)  # type: ignore[arg-type]

    table.stage.model.set_script("reply", script)
    for who in people:
        await asyncio.gather(*(who.say(one, f"Mira, in {one.name} by {who.name}") for one in channels))

    def answered(channel: object) -> set[str]:
        prompts = [one for one in table.prompts() if one.ended and f" {channel.name} " in "".join(asked(one))]  # type: ignore[attr-defined]
        return {text.rpartition(" ")[2] for one in prompts for text in asked(one)}

    await eventually(
        lambda: all(answered(one) == {"Anna", "Ben"} and table.spoken(one) for one in channels[1:]),
        "49 rooms",
        40,
    )
    assert not table.spoken(channels[0])
    gate.set()
    await eventually(lambda: answered(channels[0]) == {"Anna", "Ben"}, "the slow room")
    for channel in channels[1:]:
        for one in table.spoken(channel):
            assert f"in {channel.name} by" in one.content


@pytest.mark.parametrize("webhooks", [True, False])
async def test_c16_a_deleted_question_gets_no_answer_and_the_next_one_does(
    table: Table, running_bot: InProcess, webhooks: bool
) -> None:
    if not webhooks:
        bits = BOT_DEFAULT & ~Permission.MANAGE_WEBHOOKS
        table.stage.discord.set_bot_permissions(table.guild, bits)
    inn, anna = await feast(table)
    gate = asyncio.Event()

    def script(request: RecordedRequest) -> Behaviour:
        return Say("Too late.", gate=gate) if "swordfish" in "".join(asked(request)) else echo(request)

    table.stage.model.set_script("reply", script)
    said = await anna.say(inn, "Mira, my secret is swordfish.")
    await table.stage.model.wait_until(lambda _: table.prompts())
    await anna.delete(said)
    await eventually(lambda: table.prompts()[0].closed_by_client, "the call is given up")
    gate.set()
    await anna.say(inn, "Mira, what did I say?")
    await table.stage.discord.wait_for_message(
        inn, lambda one: "what did I say?" in one.content and one.author.id != anna.id
    )
    shown = [one.content for one in table.stage.discord.messages(inn)]
    assert "Too late." not in "".join(shown)
    assert len(table.prompts()) == 2
    assert "swordfish" not in table.prompts()[-1].text
    assert not running_bot.holding("secret is swordfish")
    assert "secret is" not in await table.use("memory search", inn, query="What is the secret?")


async def test_c16_deleted_while_the_answer_is_on_its_way(table: Table, running_bot: InProcess) -> None:
    """The message that a plain answer would refer to is gone at that moment: it is posted all the same."""
    table.stage.discord.set_bot_permissions(table.guild, BOT_DEFAULT & ~Permission.MANAGE_WEBHOOKS)
    inn, anna = await feast(table)
    slow = running_bot.discord.slow_next("POST", f"/channels/{inn.id}/messages", 0.5)
    said = await anna.say(inn, "Mira, quick!")
    await eventually(lambda: slow.hits, "the answer is on its way")
    await anna.delete(said)
    reply = await table.note(inn, "quick!")
    assert reply.reference is None or reply.referenced is None
    await anna.say(inn, "Mira, again!")
    await table.note(inn, "again!")


async def test_c16_a_reply_to_a_deleted_message_is_answered(table: Table) -> None:
    inn, anna = await feast(table)
    first = await anna.say(inn, "Something to delete.")
    said = await anna.say(inn, "Mira, about that:", reply_to=first)
    await table.reply_to(said, "Mira")
    await anna.delete(first)
    said = await anna.say(inn, "Mira, and that?", reply_to=first)
    await table.reply_to(said, "Mira")
    assert "Something to delete" not in table.prompts()[-1].text


async def _chat(table: Table, who: ScriptedUser, channel: object, lines: list[str]) -> None:
    for line in lines:
        await who.say(channel, line)  # type: ignore[arg-type]


async def test_c17_an_edit_reaches_window_notes_and_memory(table: Table, running_bot: InProcess) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", plain)
    table.stage.model.set_script(
        "memory", rewriting({"Oslo": "Anna lives in Oslo.", "Bergen": "Anna lives in Bergen."})
    )
    said = await anna.say(inn, "Mira, I live in Oslo.")
    await table.reply_to(said, "Mira")
    before = len(table.prompts())
    await _chat(table, anna, inn, [f"A small thing, number {at}." for at in range(9)])
    query = "SELECT count(*) FROM scratchpad_lines WHERE text LIKE '%Oslo%'"
    await eventually(lambda: table.stage.stored(query) != [(0,)], "a note with Oslo")
    await anna.edit(said, "Mira, I live in Bergen.")
    await eventually(lambda: not running_bot.holding("lives in Oslo"), "no note with Oslo")
    await eventually(lambda: not running_bot.holding("live in Oslo"), "no turn with Oslo")
    await _chat(table, anna, inn, [f"Another thing, number {at}." for at in range(20)])
    assert len(table.prompts()) == before  # an edit is no second question
    await table.talk(anna, inn, "Mira, where do I live?", "Mira")
    prompt = table.prompts()[-1]
    assert "Oslo" not in prompt.text
    assert "Anna: Mira, I live in Bergen." in window(prompt)
    await running_bot.indexed()
    found = await table.use("memory search", inn, query="Where does Anna live? Oslo?")
    assert "Bergen" in found
    assert "in Oslo" not in found
    assert not running_bot.holding("in Oslo")


async def test_c17_an_edit_that_only_adds_a_preview_changes_nothing(table: Table) -> None:
    inn, anna = await feast(table)
    said = await anna.say(inn, "Mira, see https://example.org/")
    await table.reply_to(said, "Mira")
    table.stage.discord.unfurl(said)
    await table.talk(anna, inn, "Mira, did you?", "Mira")
    assert len(table.prompts()) == 2
    assert "see https://example.org/" in window(table.prompts()[-1])
