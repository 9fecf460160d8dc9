"""Field cases C20–C23, C30 and C31: what models write instead of a persona's own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.in_process import InProcess, feast, lay, running
from tests.cases.notes import fill, noted, notes_json
from tests.discord_server import Channel, Message
from tests.e2e.bot_process import Table, echo, eventually, plain, window
from tests.model_server import NoChoices, Say, ToolCall

pytestmark = pytest.mark.asyncio(loop_scope="module")
SETTINGS = {"llm_timeout_s": 5.0}


async def test_c20_the_own_name_before_a_reply_is_taken_off(table: Table) -> None:
    inn, anna = await feast(table)
    forms = {
        "Mira: Good evening to you.": "Good evening to you.",
        "Mira: Mira: Come closer to the fire.": "Come closer to the fire.",
        "**Mira:** The soup is ready now.": "The soup is ready now.",
        "[Mira] Who knocks so late?": "Who knocks so late?",
        "*Mira*: Only the wind, I think.": "Only the wind, I think.",
        "mira : Sit wherever you like.": "Sit wherever you like.",
        "Mira:\nHere, some bread.": "Here, some bread.",
        "They call me Mira: the one who pours.": "They call me Mira: the one who pours.",
    }
    table.stage.model.set_script("reply", [Say(form) for form in forms])
    for number, said in enumerate(forms.values()):
        reply = await table.talk(anna, inn, f"Mira, number {number}!", "Mira")
        assert reply.content == said
    table.stage.restore()
    await table.talk(anna, inn, "Mira, the last!", "Mira")
    prompt = table.prompts()[-1]
    own = "\n".join(content for role, content in prompt.messages if role == "assistant")
    assert all(said in own for said in forms.values())
    assert "Mira: Mira:" not in prompt.text
    assert "**Mira:**" not in prompt.text


async def test_c21_lines_for_members_are_neither_shown_nor_kept(table: Table) -> None:
    inn, anna, bob = *await feast(table), table.member("Bob")
    await bob.say(inn, "I wait by the door.")
    await table.talk(anna, inn, "Mira, hello!", "Mira")
    for text, said in (
        ("Hello there.\nAnna: I draw my sword\nMira: Good.", "Hello there."),
        ("So be it.\n**Bob:** I run!\nMira: Stop!", "So be it."),
        ("Fine with me.\n\nUser: go on", "Fine with me."),
        ("Mira: Let us go.\nMira: Now!\nBob: yes", "Let us go.\nNow!"),
    ):
        table.stage.model.set_script("reply", [Say(text)])
        reply = await table.talk(anna, inn, f"Mira, {len(table.prompts())}?", "Mira")
        assert reply.content == said
    table.stage.restore()
    await table.talk(anna, inn, "Mira, done.", "Mira")
    for invented in ("draw my sword", "I run!", "User: go on"):
        assert invented not in table.prompts()[-1].text
        assert not table.stage.stored("SELECT 1 FROM turns WHERE text LIKE ?", f"%{invented}%")
    assert all(len(prompt.body.get("stop") or []) <= 4 for prompt in table.prompts())


@pytest.mark.parametrize(
    "say",
    [
        Say("<think>plan: lie to Bob</think>\nGood evening."),
        Say(chunks=["<th", "ink>plan: l", "ie to Bob</", "think", ">\nGood ev", "ening."]),
        Say("Good evening.", reasoning="plan: lie to Bob"),
        Say("Good evening.", reasoning="plan: lie to Bob", reasoning_field="reasoning"),
        Say("<thinking>plan: lie to Bob</thinking>Good evening."),
        Say("◁think▷plan: lie to Bob◁/think▷Good evening."),
    ],
)
async def test_c22_thoughts_are_neither_shown_nor_kept(
    table: Table, running_bot: InProcess, say: Say
) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", [say])
    reply = await table.talk(anna, inn, "Mira, hello!", "Mira")
    assert reply.content == "Good evening."
    table.stage.model.set_script("reply", plain)
    await table.talk(anna, inn, "Mira, and now?", "Mira")
    assert "plan: lie" not in table.prompts()[-1].text
    assert not running_bot.holding("plan: lie")


async def test_c22_thoughts_without_a_beginning(tmp_path: Path) -> None:
    """A template that opens the tag itself; it is learned, so this takes a bot of its own."""
    async with running(tmp_path) as play:
        table = await lay(play, "Tavern")
        inn, anna = await feast(table)
        play.model.set_script("reply", lambda _: Say("plan: lie to Bob</think>\n\nGood evening to you all."))
        reply = await table.talk(anna, inn, "Mira, hello!", "Mira")
        assert reply.content == "Good evening to you all."
        assert not play.holding("plan: lie")


async def test_c22_thoughts_of_background_calls_are_not_kept(table: Table, running_bot: InProcess) -> None:
    inn, anna = await feast(table)
    thoughts = "<think>plan: lie to Bob {}</think>\n"
    table.stage.model.set_script(
        "memory", lambda one: Say(thoughts + notes_json(one, text="Anna is at ease."))
    )
    await fill(anna, inn)
    await noted(table, inn, "Anna is at ease.")
    assert not running_bot.holding("plan: lie")


@pytest.mark.parametrize(
    "nothing",
    [
        Say(None),
        Say(""),
        Say("\n\n"),
        NoChoices(),
        NoChoices(null=True),
        Say("<think>What shall I say?</think>"),
        Say("Mira:"),
        Say("Anna: I answer myself."),
        Say("***"),
        ToolCall(),
    ],
)
async def test_c23_an_empty_answer_is_asked_for_once_more(
    table: Table, running_bot: InProcess, nothing: object
) -> None:
    inn, anna = await feast(table)
    lines = len(running_bot.log)
    table.stage.model.set_script("reply", lambda _: nothing)
    said = await anna.say(inn, "Mira, say something!")
    notice = await table.note(inn, "finds no words")
    assert notice.reference is not None
    assert notice.reference["message_id"] == str(said.id)
    assert len(table.prompts()) == 2
    if not isinstance(nothing, Say) or not (nothing.text or "").strip():
        assert len([line for line in running_bot.log[lines:] if "answered without text" in line]) == 2
    table.stage.restore()
    await table.talk(anna, inn, "Mira, and now?", "Mira")
    assert len(table.spoken(inn)) == 1
    assert not table.stage.stored("SELECT 1 FROM turns WHERE place_id = ? AND trim(text) = ''", inn.id)
    assert "say something!" in window(table.prompts()[-1])


async def test_c23_the_second_try_is_taken(table: Table) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", [Say(""), Say("Here I am.")])
    assert (await table.talk(anna, inn, "Mira?", "Mira")).content == "Here I am."
    assert len(table.prompts()) == 2


_MOST = "*She nods. She smiles at the guests and then she…*"
"""Where the last full sentence is a small part only, the cut one stays up to its last whole word."""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("She nods. The door opens. And then she op", "She nods. The door opens."),
        ("*She nods. She smiles at the guests and then she op", _MOST),
        ('She says: "Come in, friend. The night is col', 'She says: "Come in, friend."'),
        ("Take this.\n```python\nprint(1)\nprint(", "Take this.\n```python\nprint(1)\n```"),
        ("He counts: one, two, three and fo", "He counts: one, two, three and…"),
    ],
)
async def test_c30_an_answer_cut_by_the_token_limit_ends_whole(
    table: Table, running_bot: InProcess, text: str, said: str
) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", [Say(text, finish="length"), Say(text, finish="length"), echo])
    reply = await table.talk(anna, inn, "Mira, go on!", "Mira")
    assert reply.content == said
    (stored,) = table.stage.stored("SELECT text FROM turns WHERE place_id = ? AND persona_id > 0", inn.id)
    assert stored[0] == reply.content
    assert any("token limit" in line for line in running_bot.log)


def _notices(table: Table, channel: Channel) -> list[Message]:
    return [one for one in table.stage.discord.messages(channel) if "finds no words" in one.content]


async def test_c31_the_same_again_is_asked_for_once_more_and_not_stored_twice(table: Table) -> None:
    inn, anna = await feast(table, greeting="Welcome to my inn, weary traveller!")
    same = "The fire is warm tonight, sit down with us."
    table.stage.model.set_script("reply", lambda _: Say(same))
    await table.talk(anna, inn, "Mira, one!", "Mira")
    for number in range(3):
        await anna.say(inn, f"Mira, again {number}!")
        await eventually(lambda number=number: len(_notices(table, inn)) == number + 1, "a notice")
    assert [one.content for one in table.spoken(inn)].count(same) == 1
    first, second = table.prompts()[1:3]
    assert second.body["temperature"] > first.body["temperature"]
    assert "Say something new" in second.text
    query = "SELECT count(*) FROM turns WHERE place_id = ? AND text = ?"
    assert table.stage.stored(query, inn.id, same) == [(1,)]
    table.stage.model.set_script("reply", [Say("Welcome to my inn, weary traveller!"), Say("Ah, it is you.")])
    assert (await table.talk(anna, inn, "Mira, hello!", "Mira")).content == "Ah, it is you."


async def test_c31_a_loop_inside_a_reply_is_shortened(table: Table) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", [Say("Listen. " + "The bell rings over the town. " * 40)])
    reply = await table.talk(anna, inn, "Mira, what is it?", "Mira")
    assert reply.content.count("The bell rings") <= 3
    assert reply.content.startswith("Listen.")


async def test_c31_a_short_yes_may_come_twice(table: Table) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", lambda _: Say("Yes."))
    for number in range(2):
        assert (await table.talk(anna, inn, f"Mira, is it {number}?", "Mira")).content == "Yes."
    assert len(table.prompts()) == 2
