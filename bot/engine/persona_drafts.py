"""Drafts of personas and of what they live by: one call of the language model. Nothing is stored here."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from bot.core.character_drafts import SCHEMA as CHARACTER
from bot.core.character_drafts import character_prompt, read_character
from bot.core.chat import ChatMessage, Sampling
from bot.core.persona_drafts import SCHEMA, draft_prompt, read_draft
from bot.core.spending import Payer
from bot.core.templates import Prompts
from bot.core.types import Persona, Place
from bot.engine.limits import OverLimit
from bot.engine.paid_calls import Call, PaidCalls
from bot.engine.slots import Priority
from bot.errors import EmptyReply, ModelError, UserFacing, new_reference

log = logging.getLogger(__name__)

MOST_TOKENS = 1200
_BY_HAND = "`/persona create` without an idea opens an empty form."
_CHARACTER_BY_HAND = "`/persona edit` with `page: character` opens the form."


class Drafts:
    """Permissions are the caller's job."""

    def __init__(
        self,
        *,
        calls: PaidCalls,
        prompts: Prompts,
        sampling: Sampling,
        context_tokens: int,
    ) -> None:
        self._calls = calls
        self._prompts = prompts
        self._sampling = sampling
        self._most_tokens = min(MOST_TOKENS, context_tokens // 2)
        self._card_tokens = context_tokens // 4

    async def draft(self, place: Place, idea: str) -> dict[str, str]:
        """The texts of a persona, by the words of its form. `UserFacing` when the model has none."""
        found = read_draft(await self._answer(place, draft_prompt(idea, self._prompts), SCHEMA, _BY_HAND))
        if found is None:
            raise UserFacing(
                f"The language model gave no draft that I can read. Try again, or say more. {_BY_HAND}"
            )
        return found

    async def character(self, place: Place, persona: Persona) -> dict[str, str]:
        """What the persona may live by, from its card, by `bot.core.character.TRAITS`; absent ones left out.
        `UserFacing` when the model has nothing."""
        count, room = self._calls.model().count_tokens, self._card_tokens
        asked = character_prompt(persona, self._prompts, budget=room, count=count)
        found = read_character(await self._answer(place, asked, CHARACTER, _CHARACTER_BY_HAND))
        if found is None:
            raise UserFacing(
                f"The language model gave no answer that I can read. Try again. {_CHARACTER_BY_HAND}"
            )
        return found

    async def _answer(
        self, place: Place, messages: Sequence[ChatMessage], schema: Mapping[str, object], by_hand: str
    ) -> str:
        try:
            return await self._ask(place, messages, schema, by_hand)
        except EmptyReply:
            return ""
        except ModelError as problem:
            number = new_reference()
            log.warning("A draft in place %s failed (ref %s): %s", place.id, number, problem)
            raise UserFacing(
                f"The language model cannot answer right now (reference `{number}`). {by_hand}"
            ) from problem

    async def _ask(
        self, place: Place, messages: Sequence[ChatMessage], schema: Mapping[str, object], by_hand: str
    ) -> str:
        call = Call(
            Payer(place.space_id, place.id),
            messages,
            purpose="draft",
            max_tokens=self._most_tokens,
            schema=schema,
            sampling=self._sampling,
        )
        try:
            answer = await self._calls.complete(call, priority=Priority.BACKGROUND, interruptible=False)
        except OverLimit as problem:
            raise UserFacing(f"What may be spent here is used up for now. {by_hand}") from problem
        return answer.text
