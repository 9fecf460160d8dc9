"""One reply: recall, prompt, one completion, cleaning, commit, delivery; or one calm notice instead."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.core import speech
from bot.core.budgets import Budgets, budgets
from bot.core.chat import Completion, Sampling
from bot.core.ports import Messenger
from bot.core.prompt_parts import Prompt, ReplyScene
from bot.core.prompting import reply_prompt
from bot.core.speech import StopWatcher, Voices
from bot.core.splitting import split
from bot.core.templates import Prompts
from bot.engine.actor import PlaceActor
from bot.engine.conduct import Conduct, Spoken
from bot.engine.crowd import Crowd, Crowded
from bot.engine.delivery import Delivery
from bot.engine.explaining import Explainer, Trace
from bot.engine.gathering import Gathered, Gatherer
from bot.engine.guarding import Guard, ReplyHeldBack
from bot.engine.health import ModelHealth
from bot.engine.jobs import beside, logged
from bot.engine.judging import ECHOED, EMPTY, REPEAT, Made, better, judge, livelier, voices_of
from bot.engine.limits import OverLimit
from bot.engine.model_rooms import ModelRooms
from bot.engine.notices import UNEXPECTED, Notices
from bot.engine.paid_calls import Call, PaidCalls
from bot.engine.samples import becomes_one
from bot.engine.slots import Priority
from bot.engine.state import ReplyRequest, RunningReply
from bot.engine.storage_trouble import StorageTrouble
from bot.engine.thrift import Thrift, payer_of
from bot.errors import (
    ContextOverflow,
    EmptyReply,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    StorageError,
    new_reference,
)

log = logging.getLogger(__name__)

OnStream = Callable[[int, str, str], None]
"""Shown while a reply is written: place id, persona's name, the new piece."""

TYPING_SECONDS = 8.0
SHRINK = (1.0, 0.7, 0.45, 0.25, 0.12)
"""Shares of the context to try when the server says that a prompt is too long."""
HOLD_SECONDS = 10.0
"""After a failure the place gathers messages for so long and asks the model once for all of them."""

_CROWDED = "Too many replies are being written here right now. Please ask again in a moment."
_NO_WORDS = "*{name} finds no words for that. Please say it another way.*"
_HELD_BACK = "*{name}'s answer broke the rules of this server and was not posted. Please say it another way.*"
_UNAVAILABLE = "*{name} cannot answer right now: the language model does not respond. Please try again soon.*"
_REFUSED = (
    "*{name} cannot answer right now: the language model refused. "
    "Please say it another way, or try again later.*"
)
_MISCONFIGURED = (
    "*{name} cannot answer: the bot's language model is misconfigured. "
    "Its owner finds the details in the log (reference {reference}).*"
)


@dataclass(frozen=True, slots=True)
class _Task:
    """One reply in the making."""

    reply: RunningReply
    given: ReplyScene
    voices: Voices
    trace: Trace

    @property
    def request(self) -> ReplyRequest:
        """What it answers."""
        return self.reply.request

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Surrounds the call of the model itself."""
        with self.reply.asking(), self.trace.timed("model"):
            yield


class Conversation:
    """Makes replies. Each runs as a child task of its place's actor; state changes go through the actor."""

    def __init__(
        self,
        *,
        conduct: Conduct,
        guard: Guard,
        delivery: Delivery,
        notices: Notices,
        gatherer: Gatherer,
        explainer: Explainer,
        calls: PaidCalls,
        crowd: Crowd,
        thrift: Thrift,
        messenger: Messenger,
        prompts: Prompts,
        health: ModelHealth,
        trouble: StorageTrouble,
        context_tokens: int,
        reply_tokens: int,
        sampling: Sampling,
        on_stream: OnStream | None,
        now: Callable[[], datetime],
    ) -> None:
        self._conduct = conduct
        self._guard = guard
        self._delivery = delivery
        self._notices = notices
        self._gatherer = gatherer
        self._explainer = explainer
        self._model = calls.model()
        self._calls = calls
        self._crowd = crowd
        self._thrift = thrift
        self._messenger = messenger
        self._prompts = prompts
        self._health = health
        self._trouble = trouble
        self._rooms = ModelRooms(context_tokens)
        self._reply_tokens = reply_tokens
        self._sampling = sampling
        self._on_stream = on_stream
        self._now = now

    async def answer(self, reply: RunningReply, actor: PlaceActor) -> None:
        """Answer, or give one notice. Never silence, never two."""
        try:
            await self._trouble.check()  # before a call of the model that would be in vain
            await self._answer(reply, actor)
        except StorageError as problem:
            self._trouble.failed(problem)
            place, answered = reply.request.place, reply.request.answered_message
            if await actor.do(lambda state: self._conduct.postponed(state, reply, HOLD_SECONDS)):
                self._trouble.tell(place, reply_to=answered)

    async def _answer(self, reply: RunningReply, actor: PlaceActor) -> None:
        request, trace = reply.request, Trace()
        try:
            with self._crowd.entered(payer_of(request), int(str(request.options["waiting_replies"]))):
                reply.request = request = await self._thrift.before(request)
                spoken = await self._with_typing(reply, trace)
                await self._guard.check_reply(request.place, spoken.text)
        except ReplyHeldBack:
            await self._instead(reply, actor, _HELD_BACK.format(name=request.persona.name))
        except Crowded:
            await self._instead(reply, actor, _CROWDED, quiet=timedelta(minutes=1))
        except OverLimit as problem:
            if await actor.do(lambda state: self._conduct.failed(state, reply, 0.0)):
                await self._thrift.tired(request, problem.limit)
        except StorageError:
            raise
        except EmptyReply:
            await self._instead(reply, actor, _NO_WORDS.format(name=request.persona.name))
        except ModelError as problem:
            await self._model_failed(reply, actor, problem)
        except Exception:
            number = new_reference()
            log.exception("A reply in place %s failed (ref %s)", request.place.id, number)
            await self._instead(reply, actor, UNEXPECTED.format(reference=number))
        else:
            self._health.answered(trace.model)
            rows = await actor.do(lambda state: self._conduct.commit(state, reply, spoken))
            if rows:
                await self._delivery.send(request.place, request.persona, rows, answers=request.answers)
                await self._explain(request, trace, spoken, rows[0].turn_id)

    async def _explain(self, request: ReplyRequest, trace: Trace, spoken: Spoken, turn_id: int) -> None:
        """Keep why it came out so. The reply stands, also when that cannot be stored."""
        try:
            await self._explainer.keep(request, trace, turn_id=turn_id, text=spoken.text, now=self._now())
        except StorageError as problem:
            log.warning("Why place %s got its reply is not kept: %s", request.place.id, problem)

    async def _model_failed(self, reply: RunningReply, actor: PlaceActor, problem: ModelError) -> None:
        number = new_reference()
        log.warning("Place %s has no reply (ref %s): %s", reply.request.place.id, number, problem)
        self._health.failed(problem, number)
        text = _MISCONFIGURED if isinstance(problem, ModelMisconfigured) else _UNAVAILABLE
        if isinstance(problem, ModelRefused | ContextOverflow):
            text = _REFUSED
        text = text.format(name=reply.request.persona.name, reference=number)
        await self._instead(reply, actor, text, hold=HOLD_SECONDS)

    async def _instead(
        self,
        reply: RunningReply,
        actor: PlaceActor,
        text: str,
        *,
        hold: float = 0.0,
        quiet: timedelta = timedelta(),
    ) -> None:
        request = reply.request
        if await actor.do(lambda state: self._conduct.failed(state, reply, hold)):
            self._notices.hint(request.place, text, reply_to=request.answered_message, quiet=quiet)

    async def _with_typing(self, reply: RunningReply, trace: Trace) -> Spoken:
        name = f"typing in {reply.request.place.id}"
        async with beside(logged(self._type(reply.request), name), name=name):
            return await self._make(reply, trace)

    async def _type(self, request: ReplyRequest) -> None:
        while True:
            await self._messenger.typing(request.place)
            await asyncio.sleep(TYPING_SECONDS)

    # ------------------------------------------------------------ making it
    async def _make(self, reply: RunningReply, trace: Trace) -> Spoken:
        """The reply to post: one completion, a second only after an empty, repeated or refused one."""
        request = reply.request
        gathered = await self._gather(reply, trace)
        given, recollection = gathered.given, gathered.recollection
        trace.recollection, trace.voice, trace.felt = recollection, gathered.voice, gathered.felt
        trace.lore = given.lore.told
        task = _Task(reply, given, voices_of(request, given.roster), trace)
        hint = self._prompts.fill("hints.ignored", name=request.persona.name) if gathered.ignored else ""
        made = await self._ask(task, self._sampling, hint=hint)
        if made.complaint:
            trace.complaint = made.complaint
            hint = self._hint(made.complaint, request.persona.name)
            again = await self._ask(task, livelier(self._sampling), hint=hint)
            chosen = better(made, again)
            if chosen is None:
                raise EmptyReply(again.complaint)
            made = chosen
        trace.echo = made.echo
        if made.truncated:
            log.info("Place %s: the answer was cut off (token limit or a broken line)", request.place.id)
        text = speech.for_discord(made.text)
        good = not made.complaint and not made.truncated
        return Spoken(
            text=text,
            parts=tuple(split(text)),
            start_id=made.start_id,
            notes=given.scratchpad,
            recalled=tuple(item.memory_id for item in recollection.choice.items),
            sample=good and becomes_one(text, gathered.voice, request),
        )

    async def _gather(self, reply: RunningReply, trace: Trace) -> Gathered:
        """What the prompt tells; read again when something of it was edited or deleted meanwhile."""
        with trace.timed("recall"):
            while True:
                reply.gathering()
                gathered = await self._gatherer.gather(reply.request, self._room(reply.request))
                if reply.tells(gathered.told):
                    return gathered

    def _hint(self, complaint: str, name: str) -> str:
        values = {} if complaint in {REPEAT, ECHOED} else {"name": name}
        return self._prompts.fill(f"hints.{complaint}", **values)

    def _room(self, request: ReplyRequest) -> Budgets:
        model = self._calls.model(cheaper=request.cheaper)
        return self._budgets(request, self._rooms.of(model.name))

    def _budgets(self, request: ReplyRequest, context: int) -> Budgets:
        tokens = request.options["recall_tokens"]
        return budgets(
            int(context * request.window_share),
            reply_tokens=self._reply_tokens,
            recall_tokens=tokens if isinstance(tokens, int) else None,
        )

    async def _ask(self, task: _Task, sampling: Sampling, *, hint: str) -> Made:
        """One completion; a prompt that the server finds too long is shrunk and sent again."""
        given = replace(task.given, hints=(*task.given.hints, hint)) if hint else task.given
        model, stated = self._calls.model(cheaper=task.request.cheaper).name, True
        limit = self._rooms.of(model)
        for share in SHRINK:
            room = self._budgets(task.request, int(limit * share))
            with task.trace.timed("prompt"):
                prompt = reply_prompt(
                    given, prompts=self._prompts, budgets=room, count=self._model.count_tokens
                )
            task.trace.prompt = prompt
            try:
                completion = await self._complete(task, prompt, sampling, room.reply)
            except ContextOverflow as problem:
                log.info("Place %s: the prompt was too long, shrinking", task.request.place.id)
                model, limit = problem.model or model, min(limit, problem.limit or limit)
                self._rooms.learn(model, limit)
                stated = problem.limit is not None
                continue
            except EmptyReply as problem:
                log.info("Place %s: %s", task.request.place.id, problem)
                return Made("", EMPTY, start_id=prompt.start_id)
            if not stated:
                self._rooms.learn(model, int(limit * share))  # the next reply begins with what fitted
            return judge(task.request, task.voices, completion, prompt)
        raise ContextOverflow("The prompt is too long for the model, however short it is made")

    async def _complete(
        self, task: _Task, prompt: Prompt, sampling: Sampling, most_tokens: int
    ) -> Completion:
        request = task.request
        call = Call(
            payer_of(request),
            prompt.messages,
            purpose="reply",
            max_tokens=most_tokens,
            prompt_tokens=sum(prompt.parts.values()),
            sampling=sampling,
            cheaper=request.cheaper,
        )
        task.reply.waits(lambda: self._crowd.is_elsewhere(call.payer))
        completion = await self._calls.complete(
            call, priority=Priority.REPLY, timed=task.asking(), on_text=self._watch(task)
        )
        task.trace.model, task.trace.instead_of = completion.model, completion.instead_of
        task.trace.model_tokens += completion.usage.completion_tokens if completion.usage else 0
        return completion

    def _watch(self, task: _Task) -> Callable[[str], bool]:
        watcher = StopWatcher(task.voices)
        request = task.request

        def on_text(piece: str) -> bool:
            if self._on_stream is not None:
                self._on_stream(request.place.id, request.persona.name, piece)
            return watcher.feed(piece)

        return on_text
