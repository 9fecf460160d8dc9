"""Puts the engine together over the ports: what hears here; memory, answers and commands in modules beside.

What is behind the ports is `bot.app`'s choice, or a test's."""

from __future__ import annotations

from bot.core.budgets import budgets
from bot.core.types import Scratchpad
from bot.engine.addressing import Addressing
from bot.engine.assembly_answers import conversation_over
from bot.engine.assembly_commands import troupe_over
from bot.engine.assembly_memory import remembering
from bot.engine.conduct import Conduct
from bot.engine.crowd import Crowd, Rates
from bot.engine.delivery import Delivery
from bot.engine.explaining import Explainer
from bot.engine.guarding import Guard
from bot.engine.health import ModelHealth
from bot.engine.indexing import Feeling
from bot.engine.jobs import Jobs
from bot.engine.journal import Journal
from bot.engine.limits import Limits
from bot.engine.live import LiveScenes
from bot.engine.lore import Lore
from bot.engine.notices import Notices
from bot.engine.options import Options
from bot.engine.paid_calls import PaidCalls, Tier
from bot.engine.parts import Parts
from bot.engine.personas import Personas
from bot.engine.places import Places
from bot.engine.relations import Relations
from bot.engine.running import Running
from bot.engine.samples import Samples
from bot.engine.silence import Silence
from bot.engine.slots import FairSlots
from bot.engine.state import PlaceState
from bot.engine.storage_trouble import StorageTrouble
from bot.engine.troupe import Troupe


def assemble(parts: Parts) -> Troupe:
    """Give every part of the engine what it uses. Nothing runs yet: `Troupe.prepare` starts it."""
    store, now = parts.store, parts.now
    live = LiveScenes()
    places = Places(live=live)
    options = Options(store=store.settings)
    limits = Limits(store=store.usage, options=options, ceilings=parts.spending.ceilings, now=now)
    rates, jobs = Rates(now=now), Jobs()
    crowd = Crowd(slots=parts.concurrency, rates=rates)
    calls, behind = _calls(parts, limits, crowd)
    notices = Notices(messenger=parts.messenger, now=now)
    silence = Silence(options=options)
    trouble = StorageTrouble(store=store.settings, notices=notices, now=now)
    delivery = Delivery(
        messenger=parts.messenger,
        turns=store.turns,
        personas=store.personas,
        silent=silence.surely_covers,
        dropped=lambda place, rows, to: places.do(place, lambda state: conduct.unsaid(state, rows, to)),
        untaken=notices.not_taken,
        now=now,
    )

    def felt(place_id: int, feelings: list[Feeling]) -> None:
        actor = places.awake(place_id)
        if actor is not None:
            actor.later(lambda state: conduct.felt(state, feelings))

    async def take_notes(state: PlaceState, notes: Scratchpad) -> None:
        await conduct.take_notes(state, notes)

    memory = remembering(parts, places=places, calls=behind, felt=felt, take_notes=take_notes)
    addressing = Addressing(
        turns=store.turns,
        options=options,
        silence=silence,
        channels=parts.channels,
        notices=notices,
        rates=rates,
        jobs=jobs,
        now=now,
        answers_after=parts.answers_after,
    )
    conduct = Conduct(
        turns=store.turns,
        scenes=store.scenes,
        personas=store.personas,
        options=options,
        live=live,
        words=memory.words,
        addressing=addressing,
        delivery=delivery,
        notices=notices,
        summariser=memory.summariser,
        wake_indexer=memory.indexer.wake,
        window_turns=max(60, min(2000, parts.context_tokens // 16)),
        now=now,
    )
    personas = Personas(
        store=store.personas,
        places=places,
        conduct=conduct,
        live=live,
        count=parts.chat.count_tokens,
        room=budgets(parts.context_tokens, reply_tokens=parts.reply_tokens),
    )
    lore = Lore(
        store=store.lore,
        personas=personas,
        places=places,
        patterns=parts.patterns,
        count=parts.chat.count_tokens,
        context_tokens=parts.context_tokens,
        reply_tokens=parts.reply_tokens,
        now=now,
    )
    journal = Journal(
        turns=store.turns,
        live=live,
        tell=places.tell,
        trouble=trouble,
        stumbled=notices.trouble,
        read_missed=lambda: jobs.start(troupe.read_missed(), name="read what found no room"),
    )
    running = Running(
        jobs=jobs,
        options=options,
        limits=limits,
        rates=rates,
        crowd=crowd,
        calls=calls,
        health=ModelHealth(parts.chat.name),
        live=live,
        places=places,
        silence=silence,
        guard=Guard(options=options, moderation=parts.moderation),
        notices=notices,
        trouble=trouble,
        delivery=delivery,
        memory=memory,
        addressing=addressing,
        conduct=conduct,
        personas=personas,
        samples=Samples(store=store.personas),
        lore=lore,
        relations=Relations(knowledge=store.knowledge),
        explainer=Explainer(store=store.explanations, memories=store.memories, turns=store.turns),
        journal=journal,
    )
    places.use(conduct, conversation_over(parts, running).answer, notices.trouble)
    troupe = troupe_over(parts, running)
    return troupe


def _calls(parts: Parts, limits: Limits, crowd: Crowd) -> tuple[PaidCalls, PaidCalls]:
    """For replies, and behind them: the same where one model does both, since it has one line to wait in."""
    tier = Tier(parts.chat, parts.spending.price)
    slots = FairSlots(parts.concurrency)
    calls = PaidCalls(limits=limits, slots=slots, crowd=crowd, tier=tier, cheap=parts.spending.cheap)
    if parts.background is parts.chat:
        return calls, calls
    tier = Tier(parts.background, parts.spending.background_price)
    slots = FairSlots(parts.concurrency)
    return calls, PaidCalls(limits=limits, slots=slots, crowd=crowd, tier=tier)
