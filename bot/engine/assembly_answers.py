"""Puts together what makes the answers, over what hears and remembers."""

from __future__ import annotations

from bot.engine.conversation import Conversation
from bot.engine.gathering import Gatherer
from bot.engine.mood_causes import MoodCauses
from bot.engine.parts import Parts
from bot.engine.running import Running
from bot.engine.thrift import Thrift


def conversation_over(parts: Parts, running: Running) -> Conversation:
    """What makes every reply. Who runs it is told to the places (`Places.use`)."""
    return Conversation(
        guard=running.guard,
        conduct=running.conduct,
        gatherer=_gatherer(parts, running),
        explainer=running.explainer,
        delivery=running.delivery,
        notices=running.notices,
        calls=running.calls,
        crowd=running.crowd,
        thrift=_thrift(parts, running),
        messenger=parts.messenger,
        prompts=parts.prompts,
        health=running.health,
        trouble=running.trouble,
        context_tokens=parts.context_tokens,
        reply_tokens=parts.reply_tokens,
        sampling=parts.sampling,
        on_stream=parts.on_stream,
        now=parts.now,
    )


def _gatherer(parts: Parts, running: Running) -> Gatherer:
    return Gatherer(
        recaller=running.memory.recaller,
        knowledge=parts.store.knowledge,
        relations=running.relations,
        explainer=running.explainer,
        lore=running.lore,
        samples=running.samples,
        causes=MoodCauses(turns=parts.store.turns),
        prompts=parts.prompts,
        count=parts.chat.count_tokens,
        calm=running.memory.indexer.calm,
        now=parts.now,
    )


def _thrift(parts: Parts, running: Running) -> Thrift:
    return Thrift(
        limits=running.limits,
        store=parts.store.usage,
        options=running.options,
        notices=running.notices,
        channels=parts.channels,
        delivery=running.delivery,
        currency=parts.spending.currency,
        has_cheaper=running.calls.has_cheaper,
    )
