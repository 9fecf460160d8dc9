"""Every way a model server behaves, for a reply and for a background call, through the real engine.

Each ends as promised: an answer or one calm sentence; notes written, or kept as they were until a better
answer; no thought, error or torn JSON in a channel; no turn lost; and the next message works.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
import pytest_asyncio

import bot.engine.conversation
from bot.adapters.chat_call import Retries
from bot.adapters.chat_model import OpenAIChatModel
from bot.adapters.chat_server import Timeouts
from bot.core.types import Place
from tests.cases.notes import notes_json
from tests.engine.stage import FakeMessenger, RealClock, Stage, open_stage
from tests.model_server import (
    Behaviour,
    Bytes,
    ErrorInStream,
    Fail,
    ModelServer,
    NoChoices,
    Raw,
    RecordedRequest,
    Refusal,
    Reset,
    Say,
    Stall,
    ToolCall,
    WebPage,
)
from tests.model_server.refusals import OVERFLOW_VENDORS
from tests.model_server.vendors import KEY, VENDORS, Vendor
from tests.model_server.wire import completion

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENT = Timeouts(connect=5.0, first_text=10.0, between=10.0, usage=0.2, total=30.0)
QUICK = Timeouts(connect=5.0, first_text=0.3, between=0.3, usage=0.2, total=2.0)
"""Only where the server is silent: a busy machine takes its time with every answer."""
SPOKEN = "*smiles* Good evening, Alice. Sit down by the fire."
TRIMMED = "*smiles* Good evening, Alice."
NOTED = ("They met at the inn.", "Alice brought a silver key.")
JUNK = ("plan:", "<think", "{", "Traceback", "error", "choices", "html", "127.0.0.1", KEY)

ANSWER, DOWN, WRONG, WORDLESS = "answer", "cannot answer right now", "misconfigured", "finds no words"
REFUSED = "the language model refused"
WRITTEN, KEPT = "written", "kept"

Behave = Callable[[str], Behaviour]


@dataclass(frozen=True)
class Row:
    """One behaviour: what the server does with the text of a good answer, and how both calls end."""

    name: str
    behave: Behave | None = None
    reply: str = ANSWER
    notes: str = WRITTEN
    refuses: Sequence[Refusal] = ()
    vendor: Vendor | None = None
    context: int | None = None
    overflow: str = "openai"
    first: Sequence[Behaviour] = ()
    """What comes before, once each."""
    silent: bool = False
    known: bool = False
    """Whether it is known that its thoughts have an opening: what comes is then shown as it comes."""
    spoken: str | None = None
    """What is said, if not the good answer."""
    torn: bool = False
    """Whether the machine decides if the reader gets the text before the connection is gone."""

    def __str__(self) -> str:
        return self.name


def whole(text: str) -> Fail:
    """An answer in one piece, though a stream was asked for."""
    return Fail(200, completion("scripted", {"role": "assistant", "content": text}, "stop", None))


def most_of(text: str) -> list[str]:
    """A text without its end, in two pieces."""
    middle, last = len(text) // 2, 3 * len(text) // 4
    return [text[:middle], text[middle:last]]


def raw(*chunks: dict[str, Any]) -> Raw:
    """These chunks as a stream."""
    return Raw([*(f"data: {json.dumps(chunk)}" for chunk in chunks), "data: [DONE]"])


def odd_usage(text: str) -> Raw:
    """Chunks with counts that are none, and fields that are null."""
    delta = {
        "index": 0,
        "delta": {"content": text, "tool_calls": None, "role": None},
        "finish_reason": "stop",
    }
    return raw(
        {"choices": None, "usage": None},
        {"choices": [delta], "usage": {"prompt_tokens": None, "completion_tokens": "many"}},
        {"choices": [], "usage": {}},
    )


def streamed(text: str, *, repeated: bool = False) -> bytes:
    """An answer as the bytes of a stream, some of its characters in several bytes."""
    last: dict[str, Any] = {"delta": {}, "finish_reason": "stop"}
    if repeated:
        last["message"] = {"role": "assistant", "content": text}
    events = [
        {"choices": [{"delta": {"content": one}}]} for one in (*most_of(text), text[3 * len(text) // 4 :])
    ]
    lines = [json.dumps(one, ensure_ascii=False) for one in (*events, {"choices": [last]})]
    return "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]")).encode()


def half_a_character(text: str) -> Say:
    """Notes with an escape that JSON allows and no database takes."""
    return Say(text.replace("Alice brought", "Alice \\ud83cbrought"))


def in_one(text: str) -> bytes:
    """The same as one document."""
    return json.dumps(completion("scripted", {"content": text}, "stop", None)).encode()


EVENTS, JSON = {"Content-Type": "text/event-stream"}, {"Content-Type": "application/json"}
PACKED = {"Content-Encoding": "gzip"}
DATE = "Mon, 30 Nov 2026 12:00:00 GMT"
NOW = {"Retry-After": DATE, "Date": DATE}
LATER = {"Retry-After": "Mon, 30 Nov 2026 13:00:00 GMT", "Date": DATE}
COMPLETIONS = "/v1/chat/completions"
OVERLOADED = json.dumps({"error": {"type": "overloaded_error", "message": "Overloaded", "code": 529}})
CALL = json.dumps({"name": "look", "arguments": {}})
OLD_CALL = {"choices": [{"delta": {"function_call": {"name": "look"}}, "finish_reason": "function_call"}]}
NEXT = "<|im_start|>user\nplan: I draw my sword<|im_end|>"
TOO_MANY = {"error": {"message": "Rate limit reached", "code": 429}}
REFUSED_IN_WORDS = "I'm sorry, but as an AI language model I cannot continue with this request."
LOOP = "They sit by the fire and talk. " * 60

ROWS = (
    Row("plain", Say),
    *(Row(f"refuses {kind.value}", refuses=[kind]) for kind in Refusal),
    Row(
        "refuses all that is optional", refuses=[Refusal.RESPONSE_FORMAT, Refusal.TEMPERATURE, Refusal.STREAM]
    ),
    Row("empty", lambda _: Say(""), WORDLESS, KEPT),
    Row("null", lambda _: Say(None), WORDLESS, KEPT),
    Row("whitespace", lambda _: Say(" \n\t \n"), WORDLESS, KEPT),
    Row("withheld by a filter", lambda _: Say(None, finish="content_filter"), REFUSED, KEPT),
    Row(
        "filter in the middle",
        lambda text: Say(text[:-4], finish="content_filter"),
        ANSWER,
        KEPT,
        spoken=TRIMMED,
    ),
    Row("refusal field", lambda _: Say("", extra={"refusal": "I cannot."}, chunks=[""]), REFUSED, KEPT),
    Row("refusal in words", lambda _: Say(REFUSED_IN_WORDS), ANSWER, KEPT, spoken=REFUSED_IN_WORDS),
    Row("thoughts in a field", lambda text: Say(text, reasoning="plan: lie")),
    Row(
        "thoughts in another field",
        lambda text: Say(text, reasoning="plan: lie", reasoning_field="reasoning"),
    ),
    Row("thoughts in tags", lambda text: Say(f"<think>\nplan: lie\n</think>\n\n{text}")),
    Row("thoughts without an opening", lambda text: Say(f"plan: lie\n</think>\n\n{text}")),
    Row("thoughts alone", lambda _: Say(None, reasoning="plan: lie"), WORDLESS, KEPT),
    Row("thoughts that never end", lambda _: Say("<think>plan: lie, and", finish="length"), WORDLESS, KEPT),
    Row("tool call", lambda _: ToolCall(), WORDLESS, KEPT),
    Row("tool call of old", lambda _: raw(OLD_CALL), WORDLESS, KEPT),
    Row("tool call in words", lambda _: Say(f"<tool_call>\n{CALL}\n</tool_call>"), WORDLESS, KEPT),
    Row("tool call in other words", lambda _: Say(f"[TOOL_CALLS][{CALL}]"), WORDLESS, KEPT),
    Row("half of a character in JSON", half_a_character),
    Row("marks of its template", lambda text: Say(f"<|im_start|>assistant\n{text}<|im_end|>\n{NEXT}")),
    Row("marks of another speaker", lambda _: Say(NEXT), WORDLESS, KEPT),
    Row("no choices", lambda _: NoChoices(), WORDLESS, KEPT),
    Row("choices null", lambda _: NoChoices(null=True), WORDLESS, KEPT),
    Row("stream without a word", lambda _: Raw([]), WORDLESS, KEPT),
    Row(
        "stream that stops",
        lambda text: Stall(most_of(text)),
        ANSWER,
        KEPT,
        known=True,
        spoken=TRIMMED,
        silent=True,
    ),
    Row("stream that breaks", lambda text: Reset(most_of(text)), ANSWER, KEPT, known=True, spoken=TRIMMED),
    Row(
        "stream with an error",
        lambda text: ErrorInStream(most_of(text)),
        ANSWER,
        KEPT,
        known=True,
        spoken=TRIMMED,
    ),
    Row(
        "stream that breaks before its kind is known",
        lambda text: Reset(most_of(text)),
        DOWN,
        KEPT,
        torn=True,
    ),
    Row("error before the stream", lambda _: ErrorInStream(), DOWN, KEPT),
    Row("error in the name of an event", lambda _: Raw([f"event: error\ndata: {OVERLOADED}"]), DOWN, KEPT),
    Row("error in a list", lambda _: Raw([f"data: [{OVERLOADED}]"]), DOWN, KEPT),
    Row("error as the reason of the end", lambda _: Say("", finish="error"), DOWN, KEPT),
    Row("error with status 200", lambda _: Fail(200, {"error": {"message": "no worker"}}), REFUSED, KEPT),
    Row("error in words of a proxy", lambda _: Fail(200, {"detail": "Bad gateway"}), REFUSED, KEPT),
    Row("stream that repeats", lambda _: Say(LOOP), ANSWER, KEPT, spoken="They sit by the fire and talk."),
    Row("no reason for the end", lambda text: Say(text, finish=None)),
    Row("no reason and no mark", lambda text: Say(text, finish=None, done=False)),
    Row("line that stays open", lambda text: Say(text, hang=True)),
    Row(
        "cut at the limit",
        lambda text: Say(text[:-4], finish="length"),
        ANSWER,
        KEPT,
        spoken="Good evening, Alice.",
    ),
    Row("keep-alives", lambda text: Say(text, keep_alives=3)),
    Row("keep-alives for ever", lambda _: Stall(keep_alive_every=0.05), DOWN, KEPT, silent=True),
    Row("no usage", lambda text: Say(text, usage=False)),
    Row("odd usage", odd_usage),
    Row("one piece", whole),
    Row("letter by letter", lambda text: Say(chunks=list(text))),
    Row("byte by byte", lambda text: Bytes([bytes([one]) for one in streamed(text)])),
    Row("packed", lambda text: Bytes([gzip.compress(streamed(text))], EVENTS | PACKED)),
    Row("packed badly", lambda text: Bytes([streamed(text)], EVENTS | PACKED), DOWN, KEPT),
    Row("events called a document", lambda text: Bytes([streamed(text)], JSON)),
    Row("document called events", lambda text: Bytes([in_one(text)], EVENTS)),
    Row(
        "cut in the middle of a character",
        lambda text: Bytes([streamed(text + " 全").rpartition(b"\x85")[0]], torn=True),
        ANSWER,
        KEPT,
        known=True,
        spoken=TRIMMED,
    ),
    Row("whole message at the end", lambda text: Bytes([streamed(text, repeated=True)])),
    *(Row(f"context of {one}", context=1100, overflow=one) for one in OVERFLOW_VENDORS),
    Row("429 with a wait", Say, first=[Fail(429, TOO_MANY, {"Retry-After": "0"})]),
    Row("429 without a wait", Say, first=[Fail(429, TOO_MANY)]),
    Row("429 for an hour", lambda _: Fail(429, TOO_MANY, {"Retry-After": "3600"}), DOWN, KEPT),
    Row("429 without an end", lambda _: Fail(429, TOO_MANY), DOWN, KEPT),
    Row("429 with a date", Say, first=[Fail(429, TOO_MANY, NOW)]),
    Row("503 with a date", Say, first=[Fail(503, headers=NOW)]),
    Row("503 until later", lambda _: Fail(503, headers=LATER), DOWN, KEPT),
    Row("503 twice", Say, first=[Fail(503), Fail(503)]),
    Row("529", lambda _: Fail(529, {"type": "error", "error": {"type": "overloaded_error"}}), DOWN, KEPT),
    Row("500", lambda _: Fail(500), DOWN, KEPT),
    Row("401", lambda _: Fail(401, {"error": {"message": f"Wrong key {KEY}"}}), WRONG, KEPT),
    Row("402", lambda _: Fail(402), WRONG, KEPT),
    Row("404", lambda _: Fail(404, {"error": {"message": "The model `x` does not exist"}}), WRONG, KEPT),
    Row("400 that nobody understands", lambda _: Fail(400, {"error": "computer says no"}), REFUSED, KEPT),
    Row("no model loaded", lambda _: Fail(400, {"error": {"message": "No models loaded."}}), WRONG, KEPT),
    Row("redirected without an end", lambda _: Fail(307, "", {"Location": COMPLETIONS}), WRONG, KEPT),
    Row("redirected to a page", lambda _: Fail(302, "", {"Location": "/login"}), WRONG, KEPT),
    Row("web page", lambda _: WebPage(), DOWN, KEPT),
    Row("web page for an error", lambda _: WebPage(502), DOWN, KEPT),
    Row("slow first byte", lambda _: Stall(), DOWN, KEPT, silent=True),
    Row("slow, then an answer", Say, first=[Stall()], silent=True),
    Row("reset", lambda _: Reset(), DOWN, KEPT),
    Row("broken JSON in the stream", lambda _: Raw(["data: {not json"]), DOWN, KEPT),
    Row(
        "broken JSON in one piece",
        lambda _: Fail(200, "{no", {"Content-Type": "application/json"}),
        DOWN,
        KEPT,
    ),
    *(Row(f"at {one.name}", vendor=one) for one in VENDORS),
)


class Swapped:
    """A ChatModel that a test exchanges for a fresh one."""

    model: OpenAIChatModel

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


@dataclass
class Bench:
    """One engine and one server for all rows; each row has places of its own."""

    stage: Stage
    server: ModelServer
    swapped: Swapped
    messenger: FakeMessenger
    numbers: count[int] = field(default_factory=lambda: count(1000))

    async def arrange(self, row: Row, stack: AsyncExitStack) -> Place:
        """A fresh model at a server that behaves like the row, and a scene; nothing was learned yet."""
        number = next(self.numbers)
        place = Place(number, guild_id=number, name="tavern")
        self.server.vendor, self.server.context, self.server.model = None, None, f"scripted-{place.id}"
        if row.vendor is not None:
            self.server.be(row.vendor)
        self.server.refuses = dict.fromkeys(row.refuses, 0)
        self.server.overflow_vendor = row.overflow
        self.wait(PATIENT, row, stack)
        mira = await self.stage.troupe.personas.create(place.space_id, name="Mira")
        await self.stage.scene(mira, place=place)
        return place

    def wait(self, timeouts: Timeouts, row: Row, stack: AsyncExitStack) -> None:
        """From now on a fresh model, which waits so long."""
        self.swapped.model = OpenAIChatModel(
            base_url=self.server.url,
            api_key=KEY,
            model=self.server.model,
            timeouts=timeouts,
            retries=Retries(first_wait=0.0),
            quirks={"headless_thoughts": False} if row.known else None,
        )
        stack.push_async_callback(self.swapped.model.aclose)

    def behave(self, purpose: str, row: Row, text: Callable[[RecordedRequest], str]) -> None:
        """From now on the server does with calls of a purpose what the row says."""
        first = list(row.first)
        behave = row.behave or Say

        def answer(request: RecordedRequest) -> Behaviour:
            return first.pop(0) if first else behave(text(request))

        self.server.context = row.context
        self.server.set_script(purpose, answer)

    def heal(self, place: Place) -> None:
        """From now on it answers as it should."""
        self.server.context = None
        self.server.set_script("reply", lambda request: Say(f"Answer {request.number} to you all."))
        self.server.set_script("memory", lambda request: Say(notes_json(request, text=NOTED[1])))

    async def notes(self, place: Place) -> list[str]:
        """The lines of the scratchpad."""
        scene = self.stage.troupe.live.get(place.id)
        assert scene is not None
        return [line.text for line in (await self.stage.store.scenes.scratchpad(scene.scene.id)).lines]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    """The engine of this module."""
    clock, swapped = RealClock(), Swapped()
    messenger = FakeMessenger(clock)
    patch = pytest.MonkeyPatch()
    patch.setattr(bot.engine.conversation, "HOLD_SECONDS", 0.0)
    async with ModelServer() as server, AsyncExitStack() as stack:
        swapped.model = OpenAIChatModel(base_url=server.url, api_key=KEY, model="scripted")
        stack.push_async_callback(swapped.model.aclose)
        folder = tmp_path_factory.mktemp("quirks")
        async with open_stage(
            folder, messenger=messenger, clock=clock, chat=swapped, background=swapped
        ) as stage:
            yield Bench(stage, server, swapped, messenger)
    patch.undo()


async def until(true: Callable[[], Any], what: str) -> None:
    """Wait until it is so."""
    try:
        async with asyncio.timeout(40):
            while not await true():
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"never came: {what}")


@pytest.mark.parametrize("row", ROWS, ids=str)
async def test_a_reply_is_an_answer_or_one_calm_sentence(bench: Bench, row: Row) -> None:
    async with AsyncExitStack() as stack:
        place = await bench.arrange(row, stack)
        for number in range(30 if row.context else 1):
            bench.stage.say(f"Bob tells of day {number}, when the caravan brought silk. " * 3, place=place)
        bench.behave("reply", row, lambda _: SPOKEN)
        if row.silent:
            bench.wait(QUICK, row, stack)
        bench.stage.say("Mira, good evening to you!", place=place)
        await bench.stage.quiet(place)
        said = bench.messenger.texts(place)
        notices = [text for place_id, text in bench.messenger.notices if place_id == place.id]
        if row.reply == ANSWER:
            assert said == [row.spoken or SPOKEN] or (row.spoken and said and row.spoken in said[0])
            assert not notices
        elif not (row.torn and said and not notices):
            assert not said
            assert [row.reply in notice for notice in notices] == [True], notices
        assert not [junk for junk in JUNK for text in (*said, *notices) if junk in text]
        bench.heal(place)
        bench.wait(PATIENT, row, stack)
        bench.stage.say("Mira, and now?", place=place)
        await bench.stage.quiet(place)
        assert len(bench.messenger.texts(place)) == len(said) + 1, "the next message works"
        assert "good evening to you!" in bench.server.of("reply")[-1].text, "nothing is lost"


@pytest.mark.parametrize("row", ROWS, ids=str)
async def test_notes_are_written_or_kept_as_they_were(bench: Bench, row: Row) -> None:
    async with AsyncExitStack() as stack:
        place = await bench.arrange(row, stack)
        bench.server.set_script("memory", lambda request: Say(notes_json(request, text=NOTED[0])))
        for number in range(10):
            bench.stage.say(f"A small thing, number {number}.", place=place)

        async def noted(text: str) -> bool:
            return text in await bench.notes(place)

        await until(lambda: noted(NOTED[0]), "the first notes")
        before = await bench.notes(place)
        bench.behave("memory", row, lambda request: notes_json(request, text=NOTED[1]))
        if row.silent:
            bench.wait(QUICK, row, stack)
        asked = len(bench.server.of("memory"))
        for number in range(10):
            bench.stage.say(f"And another thing, number {number}. " * (12 if row.context else 1), place=place)
        summariser = bench.stage.troupe.summariser
        if row.notes == KEPT:

            async def failed() -> bool:
                return bool(summariser.failure) and not summariser.busy

            await until(failed, "a failure")
            assert await bench.notes(place) == before, "junk never replaces notes"
            scene = bench.stage.troupe.live.get(place.id)
            assert scene is not None
            assert await bench.stage.store.turns.count_uncovered(scene.scene.id) == 10, "nothing is lost"
            bench.heal(place)
            bench.wait(PATIENT, row, stack)
            bench.stage.clock.ahead += timedelta(minutes=10)
            bench.stage.say("And one more thing.", place=place)
        await until(lambda: noted(NOTED[1]), "the new notes")
        assert before[0] in await bench.notes(place)
        assert len(bench.server.of("memory")) - asked <= 12, "retries are bounded"
