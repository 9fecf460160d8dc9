"""Puts together what commands ask for, over the engine that hears, answers and remembers."""

from __future__ import annotations

from bot.engine.aliases import Aliases
from bot.engine.approval import Approval
from bot.engine.audit import Audit
from bot.engine.eraser import Eraser
from bot.engine.greetings import Greetings
from bot.engine.health import Health
from bot.engine.jobs import Service
from bot.engine.keeping import Keeping
from bot.engine.memory import Memories
from bot.engine.overheard import Overheard
from bot.engine.pages import Pages
from bot.engine.parts import Parts
from bot.engine.persona_drafts import Drafts
from bot.engine.privacy import Privacy
from bot.engine.replies import Replies
from bot.engine.retention import Retention
from bot.engine.running import Running
from bot.engine.scenes import Scenes
from bot.engine.screening import Screening
from bot.engine.sleeping import Sleep
from bot.engine.troupe import Troupe
from bot.engine.trust import Trust
from bot.engine.unplayed import Unplayed
from bot.engine.usage import Usage


def troupe_over(parts: Parts, running: Running) -> Troupe:
    """The face of the engine, with everything that a command can ask for."""
    store, now, memory = parts.store, parts.now, running.memory
    places, conduct, journal, options = running.places, running.conduct, running.journal, running.options
    delivery, notices = running.delivery, running.notices
    notes = Service(running.jobs, memory.summariser.run, name="summariser")
    privacy = _privacy(parts, running, notes)
    return Troupe(
        trust=_trust(parts, running),
        personas=running.personas,
        samples=running.samples,
        pasts=memory.pasts,
        drafts=Drafts(
            calls=running.calls,
            prompts=parts.prompts,
            sampling=parts.sampling,
            context_tokens=parts.context_tokens,
        ),
        lore=running.lore,
        greetings=Greetings(
            places=places, conduct=conduct, journal=journal, turns=store.turns, delivery=delivery
        ),
        scenes=Scenes(
            places=places, store=store.scenes, turns=store.turns, personas=store.personas, conduct=conduct
        ),
        aliases=Aliases(
            places=places, store=store.scenes, turns=store.turns, personas=store.personas, conduct=conduct
        ),
        pages=Pages(
            knowledge=store.knowledge,
            memories=store.memories,
            scenes=store.scenes,
            turns=store.turns,
            personas=store.personas,
            unlearning=memory.unlearning,
            wake_indexer=memory.indexer.wake,
            now=now,
        ),
        relations=running.relations,
        usage=Usage(
            store=store.usage, limits=running.limits, personas=store.personas, spending=parts.spending
        ),
        explainer=running.explainer,
        replies=Replies(
            turns=store.turns,
            knowledge=store.knowledge,
            journal=journal,
            places=places,
            delivery=delivery,
            now=now,
        ),
        keeping=Keeping(
            knowledge=store.knowledge,
            memories=store.memories,
            scenes=store.scenes,
            places=places,
            conduct=conduct,
            turns=store.turns,
            wake_indexer=memory.indexer.wake,
            note_uncovered=memory.summariser.note,
        ),
        memories=Memories(
            store=store.memories,
            knowledge=store.knowledge,
            scenes=store.scenes,
            turns=store.turns,
            recaller=memory.recaller,
            journal=journal,
            unlearning=memory.unlearning,
            now=now,
        ),
        options=options,
        privacy=privacy,
        retention=Retention(
            privacy=privacy,
            store=store.privacy,
            scenes=store.scenes,
            settings=store.settings,
            usage=store.usage,
            options=options,
            now=now,
        ),
        overheard=Overheard(journal=journal, places=places, conduct=conduct, addressing=running.addressing),
        unplayed=Unplayed(
            personas=store.personas, turns=store.turns, options=options, notices=notices, now=now
        ),
        health_report=Health(
            model=running.health,
            encoder=parts.encoder,
            probe=memory.probe,
            memories=store.memories,
            summariser=memory.summariser,
            trouble=running.trouble,
            degraded=parts.degraded,
            model_lines=parts.model_lines,
            disk=parts.disk,
        ),
        places=places,
        live=running.live,
        journal=journal,
        conduct=conduct,
        delivery=delivery,
        notices=notices,
        indexer=memory.indexer,
        summariser=memory.summariser,
        words=memory.words,
        store=store.scenes,
        messenger=parts.messenger,
        jobs=running.jobs,
        notes=notes,
    )


def _privacy(parts: Parts, running: Running, notes: Service) -> Privacy:
    """`notes` runs the summariser, which stands still while something is forgotten."""
    privacy = Privacy(
        store=parts.store.privacy,
        ledger=parts.ledger,
        eraser=Eraser(
            store=parts.store.privacy,
            ledger=parts.ledger,
            indexer=running.memory.indexer,
            remove_copies=parts.remove_copies,
            now=parts.now,
        ),
        journal=running.journal,
        places=running.places,
        live=running.live,
        options=running.options,
        words=running.memory.words,
        delivery=running.delivery,
        notes=notes,
        counted=running.limits.settled,
        jobs=running.jobs,
    )
    privacy.on_forgotten(running.rates.forget)
    return privacy


def _trust(parts: Parts, running: Running) -> Trust:
    guard, notices = running.guard, running.notices
    return Trust(
        channels=parts.channels,
        guard=guard,
        approval=Approval(store=parts.store.personas, channels=parts.channels),
        sharing=running.memory.sharing,
        screening=Screening(guard=guard, notices=notices),
        sleep=Sleep(
            silence=running.silence,
            options=running.options,
            places=running.places,
            conduct=running.conduct,
            delivery=running.delivery,
            turns=parts.store.turns,
            notices=notices,
        ),
        audit=Audit(
            store=parts.store.audit, options=running.options, channels=parts.channels, notices=notices
        ),
    )
