"""Calls of the language model that count: reserved within the limits, in a fair slot, then corrected."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass

from bot.core.chat import DEFAULT_SAMPLING, ChatMessage, ChatModel, Completion, OnText, Sampling
from bot.core.spending import NO_PRICE, NOTHING, Limit, Payer, Price, Spent
from bot.engine.crowd import Crowd
from bot.engine.limits import Limits
from bot.engine.slots import FairSlots, Priority
from bot.errors import EmptyReply, ModelError


@dataclass(frozen=True, slots=True)
class Tier:
    """A language model and what it charges."""

    model: ChatModel
    price: Price = NO_PRICE


@dataclass(frozen=True, slots=True)
class Spending:
    """What `.env` says of money: the limits of the whole bot, prices, and the model for when it is short."""

    ceilings: tuple[Limit, ...] = ()
    price: Price = NO_PRICE
    background_price: Price = NO_PRICE
    """Where the work behind the replies has a model of its own."""
    cheap: Tier | None = None
    currency: str = "$"

    @property
    def priced(self) -> bool:
        """Whether money is counted at all."""
        return self.price != NO_PRICE


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked, for whom, and how long the answer may be."""

    payer: Payer
    messages: Sequence[ChatMessage]
    purpose: str
    max_tokens: int
    prompt_tokens: int | None = None
    """An estimate; counted when it is not given."""
    schema: Mapping[str, object] | None = None
    sampling: Sampling = DEFAULT_SAMPLING
    cheaper: bool = False
    """Asks the cheaper model, where there is one."""


class PaidCalls:
    """The only way to the language model for whatever somebody pays."""

    def __init__(
        self, *, limits: Limits, slots: FairSlots, crowd: Crowd, tier: Tier, cheap: Tier | None = None
    ) -> None:
        self._limits = limits
        self._slots = slots
        self._crowd = crowd
        self._tier = tier
        self._cheap = cheap

    @property
    def has_cheaper(self) -> bool:
        """Whether there is a cheaper model."""
        return self._cheap is not None

    def model(self, *, cheaper: bool = False) -> ChatModel:
        """The model that answers such calls."""
        return self._tier_of(cheaper).model

    async def complete(
        self,
        call: Call,
        *,
        priority: Priority,
        interruptible: bool = True,
        timed: AbstractContextManager[object] | None = None,
        on_text: OnText | None = None,
    ) -> Completion:
        """Return the model's answer. `timed` surrounds the call without the wait for a slot.

        Raises OverLimit before anything is asked, GiveWay as a slot does, and ModelError.
        """
        tier = self._tier_of(call.cheaper)
        prompt_tokens = call.prompt_tokens
        if prompt_tokens is None:
            prompt_tokens = sum(tier.model.count_tokens(message.content) for message in call.messages)
        estimate = tier.price.spent(prompt_tokens, call.max_tokens, calls=0)
        reserved = await self._limits.reserve(call.payer, estimate)
        spent = NOTHING
        try:
            async with self._slot(call.payer, priority, interruptible):
                spent = tier.price.spent(prompt_tokens, 0)  # what a call costs that is cut off
                try:
                    with timed or nullcontext():
                        completion = await tier.model.complete(
                            call.messages,
                            purpose=call.purpose,
                            max_tokens=call.max_tokens,
                            schema=call.schema,
                            sampling=call.sampling,
                            on_text=on_text,
                        )
                except ModelError as problem:
                    if not isinstance(problem, EmptyReply):  # that one was written, and is charged
                        spent = NOTHING
                    raise
                spent = _cost(tier, completion, prompt_tokens)
        finally:
            self._limits.settle(reserved, spent)
        return completion

    def _tier_of(self, cheaper: bool) -> Tier:
        return (self._cheap or self._tier) if cheaper else self._tier

    @asynccontextmanager
    async def _slot(self, payer: Payer, priority: Priority, interruptible: bool) -> AsyncIterator[None]:
        """Servers, members and places in turn, and no member everywhere at once."""
        member_id = self._crowd.member(payer)
        async with self._crowd.line(payer.space_id, member_id):
            if priority is Priority.REPLY and self._crowd.is_flood(payer):
                priority = Priority.FLOOD
            async with self._slots.hold(
                payer.place_id,
                space_id=payer.space_id,
                member_id=member_id,
                priority=priority,
                interruptible=interruptible,
            ):
                yield


def _cost(tier: Tier, completion: Completion, prompt_tokens: int) -> Spent:
    """By the server's own count; by ours when it gives none, as for a stream that was closed early."""
    usage = completion.usage
    if usage is None:
        return tier.price.spent(prompt_tokens, tier.model.count_tokens(completion.text))
    return tier.price.spent(usage.prompt_tokens, usage.completion_tokens)
