"""Spends less as a limit comes near: tells moderators, shortens, cheapens, and ends in one tired line."""

from __future__ import annotations

import logging
from dataclasses import replace

from bot.core.spending import (
    SHORTER_WINDOW,
    Level,
    Limit,
    Mark,
    Payer,
    Scope,
    Step,
    UsageStore,
    step_of,
)
from bot.core.spending_words import key_of, tired, warned
from bot.core.trust import Channels
from bot.core.types import Place
from bot.engine.audit import log_channel
from bot.engine.delivery import Delivery
from bot.engine.limits import Limits, OverLimit
from bot.engine.notices import Notices
from bot.engine.options import Options
from bot.engine.state import ReplyRequest, is_unwritten
from bot.errors import DeliveryError

log = logging.getLogger(__name__)


class Thrift:
    """The steps that a reply takes before its call, by how much of its limits is used."""

    def __init__(
        self,
        *,
        limits: Limits,
        store: UsageStore,
        options: Options,
        notices: Notices,
        channels: Channels,
        delivery: Delivery,
        currency: str,
        has_cheaper: bool,
    ) -> None:
        self._limits = limits
        self._store = store
        self._options = options
        self._notices = notices
        self._channels = channels
        self._delivery = delivery
        self._currency = currency
        self._has_cheaper = has_cheaper

    async def before(self, request: ReplyRequest) -> ReplyRequest:
        """The request as it may be answered now. Raises OverLimit when nothing is left."""
        levels = await self._limits.levels(payer_of(request))
        for level in levels:
            if level.step >= Step.NOTICE:
                await self._warn(request, level)
        step = step_of(levels)
        if step is Step.SPENT:
            raise OverLimit(next(level.limit for level in levels if level.step is Step.SPENT))
        if step < Step.SHORTER:
            return request
        return replace(request, window_share=SHORTER_WINDOW, cheaper=step >= Step.CHEAPER)

    async def tired(self, request: ReplyRequest, limit: Limit) -> None:
        """Have the persona say, once in the place and period, that it is too tired. Asks no model."""
        place, persona = request.place, request.persona
        member_id = next(iter(payer_of(request).member_ids), 0) if limit.scope is Scope.MEMBER else 0
        day = self._limits.today
        mark = Mark(
            place.space_id,
            f"tired {_about(limit, request)}",
            limit.period.name_of(day),
            place.id,
            member_id,
        )
        if not await self._store.is_first(mark):
            return
        text = tired(limit, name=persona.name, own_line=str(request.options["tired_line"]), day=day)
        try:
            await self._delivery.aside(place, persona, text, reply_to=request.answered_message)
        except DeliveryError as problem:
            log.warning("Place %s is not told that %s is used up: %s", place.id, key_of(limit), problem)

    async def _warn(self, request: ReplyRequest, level: Level) -> None:
        """Once in a period: moderators of a limit that they set, the owner of one in `.env`."""
        limit = level.limit
        if limit.scope is Scope.MEMBER:
            return  # everybody sees their own with /usage
        space_id = 0 if limit.scope is Scope.BOT else request.place.space_id
        period = limit.period.name_of(self._limits.today)
        if not await self._store.is_first(Mark(space_id, f"warned {_about(limit, request)}", period)):
            return
        if limit.scope is Scope.BOT:
            log.warning("%s is used to %.0f%%", key_of(limit), 100 * level.share)
            return
        text = warned(
            level, name=request.persona.name, currency=self._currency, has_cheaper=self._has_cheaper
        )
        self._notices.plain(self._moderators(request.place), text)

    def _moderators(self, place: Place) -> Place:
        """Where moderators read: the log channel of the settings, else Discord's own for them, else where it
        happened."""
        chosen = log_channel(place, self._options, self._channels)
        if chosen is not None:
            return chosen
        own = self._channels.for_moderators(place.guild_id) if place.guild_id else 0
        return Place(id=own, guild_id=place.guild_id, name="moderators") if own else place


def payer_of(request: ReplyRequest) -> Payer:
    """To whom a reply counts: those it answers, but for members who opted out: nothing is written of them."""
    owners = (turn.owner_id for turn in request.answers if not is_unwritten(turn))
    return Payer(request.place.space_id, request.place.id, tuple(dict.fromkeys(owners)), request.persona.id)


def _about(limit: Limit, request: ReplyRequest) -> str:
    whose = f" {request.persona.id}" if limit.scope is Scope.PERSONA else ""
    return f"{key_of(limit)}{whose}"
