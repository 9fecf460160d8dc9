"""Drafts of personas: one call of the language model for a short idea. Nothing is stored here."""

from __future__ import annotations

import logging

from bot.core.chat import ChatModel, Sampling
from bot.core.drafts import SCHEMA, draft_prompt, read_draft
from bot.core.templates import Prompts
from bot.core.types import Place
from bot.engine.jobs import reference
from bot.engine.limits import Limits
from bot.engine.options import Options
from bot.engine.slots import FairSlots, Priority
from bot.errors import EmptyReply, ModelError, UserFacing

log = logging.getLogger(__name__)

MOST_TOKENS = 1200
_BY_HAND = "`/persona create` without an idea opens an empty form."


class Drafts:
    """Permissions are the caller's job."""

    def __init__(
        self,
        *,
        model: ChatModel,
        slots: FairSlots,
        limits: Limits,
        options: Options,
        prompts: Prompts,
        sampling: Sampling,
        context_tokens: int,
    ) -> None:
        self._model = model
        self._slots = slots
        self._limits = limits
        self._options = options
        self._prompts = prompts
        self._sampling = sampling
        self._most_tokens = min(MOST_TOKENS, context_tokens // 2)

    async def draft(self, place: Place, idea: str) -> dict[str, str]:
        """The texts of a persona, by the words of its form. `UserFacing` when the model has none."""
        try:
            answer = await self._ask(place, idea)
        except EmptyReply:
            answer = ""
        except ModelError as problem:
            number = reference()
            log.warning("A draft in place %s failed (ref %s): %s", place.id, number, problem)
            raise UserFacing(
                f"The language model cannot answer right now (reference `{number}`). {_BY_HAND}"
            ) from problem
        found = read_draft(answer)
        if found is None:
            raise UserFacing(
                f"The language model gave no draft that I can read. Try again, or say more. {_BY_HAND}"
            )
        return found

    async def _ask(self, place: Place, idea: str) -> str:
        messages = draft_prompt(idea, self._prompts)
        options = await self._options.effective(place.space_id, place.id)
        expected = sum(self._model.count_tokens(message.content) for message in messages)
        reserved = await self._limits.reserve(
            place.space_id,
            expected + self._most_tokens,
            space_limit=int(str(options["daily_tokens"].value)),
        )
        if reserved is None:
            raise UserFacing(f"Today's tokens for this server are used up. {_BY_HAND}")
        completion = None
        try:
            async with self._slots.hold(place.id, priority=Priority.BACKGROUND, interruptible=False):
                completion = await self._model.complete(
                    messages,
                    purpose="draft",
                    max_tokens=self._most_tokens,
                    schema=SCHEMA,
                    sampling=self._sampling,
                )
        finally:
            await self._limits.settle(reserved, completion)
        return completion.text
