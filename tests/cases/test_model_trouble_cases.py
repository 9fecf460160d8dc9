"""Field cases C28, C29 and C32: wrapped or wrong background answers, failing providers, other languages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases.in_process import InProcess, feast, lay, running
from tests.cases.notes import fill, noted, notes_json, notes_over, numbered
from tests.discord_server import Channel, Message
from tests.e2e.bot_process import Table, asked, eventually, plain, window
from tests.model_server import ErrorInStream, Fail, RecordedRequest, Reset, Say, Stall, WebPage

pytestmark = pytest.mark.asyncio(loop_scope="module")
SETTINGS = {"llm_timeout_s": 5.0}
_KEY = "sk-secret-key-of-the-owner"
_FELT = (
    "SELECT count(*) FROM memories WHERE kind = 'turn' AND place_id = ? AND emotion_source = 'model:scripted'"
)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: f"```json\n{text}\n```\nI extracted one fact.",
        lambda text: f"Here is the JSON that you asked for:\n\n{text}",
        lambda text: f"```JSON\n{text}\n```",
        lambda text: text.replace('"', "'"),
        lambda text: text.replace("]}", "],}"),
        lambda text: f"{text}\n\nIs there anything to change?",
        lambda text: text[:-1],
        lambda text: f"\ufeff{text}",
    ],
    ids=["fence and remark", "prose before", "upper case", "single quotes", "comma", "after", "open", "mark"],
)
async def test_c28_json_is_read_through_what_models_put_around_it(
    table: Table, wrap: Callable[[str], str]
) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("memory", lambda one: Say(wrap(notes_json(one, text="Anna is at ease."))))
    await fill(anna, inn)
    await noted(table, inn, "Anna is at ease.")
    await eventually(lambda: table.stage.stored(_FELT, inn.id)[0][0] >= 10, "feelings")
    assert len(table.prompts(purpose="memory")) == 1


async def test_c28_what_cannot_be_read_costs_no_turn(table: Table, running_bot: InProcess) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("memory", lambda _: Say("I extracted: nothing { much, really"))
    await fill(anna, inn, 10, "The saffron of shelf")
    await eventually(lambda: table.prompts(purpose="memory"), "a call")
    await eventually(
        lambda: any("are kept as they are" in line for line in running_bot.log), "a line in the log"
    )
    query = "SELECT count(*) FROM memories WHERE kind = 'turn' AND place_id = ?"
    assert table.stage.stored(query, inn.id) == [(10,)]
    assert "saffron of shelf 3" in await table.use("memory search", inn, query="saffron of shelf 3")


@pytest.mark.parametrize(
    ("trouble", "told", "most"),
    [
        (Fail(401, {"error": {"message": f"Incorrect API key provided: {_KEY}"}}), "misconfigured", 1),
        (Fail(402, {"error": {"message": "Insufficient credits"}}), "misconfigured", 1),
        (Fail(404, {"error": {"message": "The model `x` does not exist"}}), "misconfigured", 1),
        (Fail(429, headers={"Retry-After": "1"}), "cannot answer", 4),
        (Fail(429, headers={"Retry-After": "3600"}), "cannot answer", 1),
        (Fail(503), "cannot answer", 4),
        (Fail(500, "<html><body>nginx</body></html>"), "cannot answer", 4),
        (WebPage(), "cannot answer", 4),
        (Reset(), "cannot answer", 4),
        (Stall(), "cannot answer", 3),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, (str, int)) else str(value),
)
async def test_c29_a_failing_provider_gives_one_notice_and_no_secret(
    table: Table, running_bot: InProcess, trouble: object, told: str, most: int
) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", lambda _: trouble)
    lines = len(running_bot.log)
    said = await anna.say(inn, "Mira, my unusual question!")
    notice = await table.stage.discord.wait_for_message(
        inn, lambda one: one.id > said.id and told in one.content, 30
    )
    assert 1 <= len(table.prompts()) <= most
    bot_id = table.stage.discord.bot_user_id
    posts = [one for one in table.stage.discord.messages(inn) if one.id > said.id and one.author.id == bot_id]
    assert posts == [notice]
    for secret in (_KEY, table.stage.model.url, "Traceback", "unusual question", "/v1"):
        assert secret not in notice.content
    assert _KEY not in "\n".join(running_bot.log)
    assert "unusual question" not in "\n".join(running_bot.log)
    (line,) = [line for line in running_bot.log[lines:] if "has no reply" in line]
    if isinstance(trouble, Fail):
        assert f"answered {trouble.status}" in line  # the owner finds out why
    if told == "misconfigured":
        reference = notice.content.partition("reference ")[2].partition(")")[0]
        assert f"(ref {reference})" in line
    table.stage.restore()
    await table.talk(anna, inn, "Mira, and now?", "Mira")
    assert "my unusual question!" in window(table.prompts()[-1])
    assert len(table.spoken(inn)) == 1


async def test_c29_many_who_ask_meanwhile_share_the_notices(table: Table, running_bot: InProcess) -> None:
    inn, anna = await feast(table)
    people = [anna, *(table.member(f"Guest{number}") for number in range(5))]
    table.stage.model.set_script("reply", lambda _: Fail(429, headers={"Retry-After": "3600"}))
    for number, who in enumerate(people):
        await who.say(inn, f"Mira, question {number}!")
    asked_all = [f"Mira, question {number}!" for number in range(6)]
    await eventually(
        lambda: sorted(text for one in table.prompts() for text in asked(one)) == asked_all,
        "all are asked for",
    )
    await running_bot.app.troupe.delivery.quiet([inn.id], 5)
    await table.note(inn, "cannot answer")
    calls = len(table.prompts())
    await eventually(lambda: len(_notices(table, inn)) == calls, "a notice for each call")
    assert calls <= 3, "those who ask while the model is down wait for each other"
    table.stage.restore()
    await table.talk(anna, inn, "Mira, and now?", "Mira")
    assert all(text in window(table.prompts()[-1]) for text in asked_all)
    assert len(_notices(table, inn)) == calls


def _notices(table: Table, channel: Channel) -> list[Message]:
    return [one for one in table.stage.discord.messages(channel) if "cannot answer" in one.content]


async def test_c29_a_line_that_breaks_in_the_middle_gives_one_answer_or_notice(table: Table) -> None:
    """What was said so far stands when it can; a torn word is never shown."""
    inn, anna = await feast(table)
    broken = ErrorInStream(after=["Good evening", " to all of you. ", "And now th"])
    table.stage.model.set_script("reply", lambda _: broken)
    said = await anna.say(inn, "Mira, hello!")
    await table.stage.discord.wait_for_message(inn, lambda one: one.id > said.id, 30)
    posts = [one.content for one in table.stage.discord.messages(inn) if one.id > said.id]
    assert len(posts) == 1
    assert posts[0] == "Good evening to all of you." or "cannot answer" in posts[0]


async def test_c29_twice_busy_then_an_answer(table: Table) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", [Fail(503), Fail(503), Say("There we are.")])
    reply = await table.talk(anna, inn, "Mira, hello!", "Mira")
    assert reply.content == "There we are."
    assert len(table.prompts()) == 3


async def test_c29_nobody_listens_at_the_address(tmp_path: Path) -> None:
    async with running(tmp_path, llm_base_url="http://127.0.0.1:9/v1") as play:
        table = await lay(play, "Tavern")
        inn, anna = await feast(table)
        await anna.say(inn, "Mira, hello!")
        notice = await table.note(inn, "cannot answer")
        assert "127.0.0.1" not in notice.content
        assert play.stored("SELECT count(*) FROM turns WHERE text = 'Mira, hello!'") == [(1,)]
        assert "⚠️ language model" in await table.use("settings show", inn)


async def test_c32_notes_in_another_language_are_refused(table: Table) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script(
        "memory", lambda one: Say(notes_json(one, text="安娜在酒馆里休息，心情很好。"))
    )
    await fill(anna, inn)
    await eventually(lambda: table.prompts(purpose="memory"), "a call")
    await eventually(lambda: "another language" in _health(table), "a refusal")
    for name in ("scratchpad_lines", "memories"):
        assert not table.stage.stored(f"SELECT 1 FROM {name} WHERE text LIKE '%安娜%'")
    await table.talk(anna, inn, "Mira, hello!", "Mira")
    assert "安娜" not in table.prompts()[-1].text
    assert "in the language of the last lines" in table.prompts()[-1].text


def _health(table: Table) -> str:
    play: InProcess = table.stage  # type: ignore[assignment]
    return play.app.troupe.summariser.failure


@pytest.mark.parametrize(
    "scores",
    [
        {"喜悦": 8, "信任": 6, "恐惧": 1, "惊讶": 2, "悲伤": 1, "厌恶": 1, "愤怒": 1, "期待": 5},
        {"joie": 8, "confiance": 6, "peur": 1, "surprise": 2, "tristesse": 1, "colère": 1},
        {"喜悦": 8},
    ],
    ids=["chinese", "french", "one label"],
)
async def test_c32_translated_labels_of_feelings_are_understood(table: Table, scores: dict[str, int]) -> None:
    inn, anna = await feast(table)

    def answer(request: RecordedRequest) -> Say:
        feelings = [{"turn": number, "scores": scores} for number, _ in numbered(request)]
        return Say(json.dumps(notes_over(request, text="Anna is at ease.", emotions=feelings)))

    table.stage.model.set_script("memory", answer)
    await fill(anna, inn)
    await noted(table, inn, "Anna is at ease.")
    await eventually(lambda: table.stage.stored(_FELT, inn.id)[0][0] >= 10, "feelings")
    play: InProcess = table.stage  # type: ignore[assignment]
    ids = [row[0] for row in table.stage.stored("SELECT id FROM memories WHERE place_id = ?", inn.id)]
    felt = [one.emotion for one in await play.app.store.memories.by_ids(ids) if one.kind == "turn"]
    assert all(vector is not None and vector.min() >= 1 and vector[0] >= 7 for vector in felt)


async def test_c32_a_french_channel_stays_french(table: Table) -> None:
    inn, anna = await feast(table)
    table.stage.model.set_script("reply", plain)
    table.stage.model.set_script(
        "memory", lambda one: Say(notes_json(one, text="Anne se repose près du feu."))
    )
    await fill(anna, inn, 10, "Je raconte une petite histoire, numéro")
    await noted(table, inn, "près du feu")
    await table.talk(anna, inn, "Mira, bonsoir !", "Mira")
    prompt = table.prompts()[-1]
    assert "Anne se repose près du feu." in prompt.text
    assert asked(prompt) == ["Mira, bonsoir !"]
