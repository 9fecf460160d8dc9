"""Language models in order: the first that is up answers. The one place where a call gets its model."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from bot.core.breaker import Breaker
from bot.core.chat import DEFAULT_SAMPLING, ChatMessage, ChatModel, Completion, OnText, Sampling
from bot.engine.health import HealthLine
from bot.engine.jobs import Jobs
from bot.errors import (
    ContextOverflow,
    EmptyReply,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
)

log = logging.getLogger(__name__)

_TRIAL: Final = (ChatMessage("user", "Say yes."),)
_TRIAL_TOKENS: Final = 8
_DOWN = (ModelUnavailable, ModelMisconfigured)
"""What another model may not suffer from. A prompt that is too long or refused is the same for all."""
_ALIVE = (ContextOverflow, ModelRefused, EmptyReply)


@dataclass(slots=True)
class Link:
    """One model of a chain. Chains may share it: what one learns of it, the other knows.

    label: how the log names it. room: the tokens that its server says it takes; None while not asked.
    """

    model: ChatModel
    label: str
    breaker: Breaker = field(default_factory=Breaker)
    failure: str = ""
    room: int | None = None
    asked_room: bool = False


class ModelChain:
    """A ChatModel over models in order. One that is down is left alone and the next answers instead.

    While it is left alone nobody waits for it: a small call of our own tries it now and then, and the first
    such call that is answered leads the way back. When all are down the first is asked all the same.
    Errors that every model would give (a prompt too long, refused, an empty answer) go to the caller.
    """

    def __init__(self, links: Sequence[Link], *, clock: Callable[[], float] = time.monotonic) -> None:
        if not links:
            raise ValueError("a chain needs a model")
        self._links = tuple(links)
        self._clock = clock
        self._jobs = Jobs()

    @property
    def name(self) -> str:
        """The name of the model that the next call will ask."""
        return self._next.model.name

    @property
    def _next(self) -> Link:
        return next((link for link in self._links if not link.breaker.opened), self._links[0])

    def count_tokens(self, text: str) -> int:
        """As the model counts that the next call will ask."""
        return self._next.model.count_tokens(text)

    async def context_tokens(self) -> int | None:
        """Of the first model: it answers nearly always."""
        return await self._links[0].model.context_tokens()

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        purpose: str,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Mapping[str, object] | None = None,
        sampling: Sampling = DEFAULT_SAMPLING,
        on_text: OnText | None = None,
    ) -> Completion:
        """See ChatModel.complete. Raises what the first model raised that was asked when none answers."""
        first: ModelError | None = None
        for link in self._candidates():
            await self._check_room(link, messages, max_tokens)
            began = self._clock()
            try:
                completion = await link.model.complete(
                    messages,
                    purpose=purpose,
                    max_tokens=max_tokens,
                    stop=stop,
                    schema=schema,
                    sampling=sampling,
                    on_text=on_text,
                )
            except _DOWN as problem:
                self._failed(link, problem, began)
                first = first or problem
                continue
            except ContextOverflow as problem:
                self._works(link)
                problem.model = link.model.name
                raise
            except _ALIVE:
                self._works(link)
                raise
            self._works(link)
            instead = "" if link is self._links[0] else self._links[0].model.name
            return replace(completion, instead_of=instead)
        assert first is not None
        raise first

    async def aclose(self) -> None:
        """End what tries the models that are down. The models are their owner's to close."""
        await self._jobs.close()

    def lines(self) -> list[HealthLine]:
        """How each model is, for `/settings show`; nothing while the first answers and the others wait."""
        now, found = self._clock(), []
        for link in self._links:
            if link.breaker.opened:
                wait = max(0, round(link.breaker.next_trial - now))
                text = f"{link.model.name} is down ({link.failure}); tried again in {wait} s"
                found.append(HealthLine("model", False, text))
        if found and not self._next.breaker.opened:
            found.append(HealthLine("model", True, f"{self.name} answers instead"))
        elif not found and len(self._links) > 1:
            names = ", then ".join(link.model.name for link in self._links[1:])
            found.append(HealthLine("fallback models", True, f"{names} would answer instead"))
        return found

    # ------------------------------------------------------------ order
    def _candidates(self) -> list[Link]:
        """Those to ask, in order; meanwhile the ones whose rest is over are tried."""
        now = self._clock()
        up = [link for link in self._links if not link.breaker.opened]
        if not up:
            return list(self._links)
        for link in self._links:
            if link.breaker.may_be_tried(now) and not self._jobs.closing:
                link.breaker.begin_trial()
                self._jobs.start(self._try(link), name=f"try the model {link.label}")
        return up

    async def _try(self, link: Link) -> None:
        began = self._clock()
        try:
            await link.model.complete(_TRIAL, purpose="trial", max_tokens=_TRIAL_TOKENS)
        except _DOWN as problem:
            self._failed(link, problem, began)
        except ModelError:
            self._works(link)  # it understood us, which is what we wanted to know
        else:
            self._works(link)
        finally:
            link.breaker.end_trial()

    async def _check_room(self, link: Link, messages: Sequence[ChatMessage], max_tokens: int) -> None:
        """ContextOverflow when the prompt was made for a bigger model. The first's size is known to all."""
        if link is self._links[0]:
            return
        if not link.asked_room:
            link.asked_room, link.room = True, await link.model.context_tokens()
        count = link.model.count_tokens
        expected = max_tokens + sum(count(message.content) for message in messages)
        if link.room is not None and expected > link.room:
            raise ContextOverflow(
                f"The prompt is too long for {link.label}.", limit=link.room, model=link.model.name
            )

    # ------------------------------------------------------------ what a call taught
    def _works(self, link: Link) -> None:
        link.failure = ""
        if link.breaker.succeeded():
            log.info("The model %s answers again", link.label)

    def _failed(self, link: Link, problem: ModelError, began: float) -> None:
        now = self._clock()
        for_long = isinstance(problem, ModelMisconfigured)
        link.failure = "misconfigured" if for_long else "does not respond"
        if link.breaker.failed(now, took=now - began, for_long=for_long):
            wait = link.breaker.next_trial - now
            log.warning("The model %s is left alone for %.0f s: %s", link.label, wait, problem)
        else:
            log.info("The model %s failed: %s", link.label, problem)
