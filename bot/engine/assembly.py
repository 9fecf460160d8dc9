"""Puts the engine together over the ports; what is behind them is `bot.app`'s choice, or a test's."""

from __future__ import annotations

from bot.core.budgets import budgets
from bot.core.types import Scratchpad
from bot.engine.addressing import Addressing
from bot.engine.aliases import Aliases
from bot.engine.approval import Approval
from bot.engine.audit import Audit
from bot.engine.conduct import Conduct
from bot.engine.conversation import Conversation
from bot.engine.crowd import Crowd, Rates
from bot.engine.delivery import Delivery
from bot.engine.drafts import Drafts
from bot.engine.eraser import Eraser
from bot.engine.explaining import Explainer
from bot.engine.feelings import Relations
from bot.engine.gathering import Gatherer
from bot.engine.greetings import Greetings
from bot.engine.guarding import Guard
from bot.engine.health import Health, ModelHealth
from bot.engine.indexing import Feeling, Indexer
from bot.engine.jobs import Jobs, Service
from bot.engine.journal import Journal
from bot.engine.keeping import Keeping
from bot.engine.known_facts import KnownFacts
from bot.engine.limits import Limits
from bot.engine.live import LiveScenes
from bot.engine.lore import Lore
from bot.engine.memory import Memories
from bot.engine.mood_causes import MoodCauses
from bot.engine.notices import Notices
from bot.engine.options import Options
from bot.engine.overheard import Overheard
from bot.engine.pages import Pages
from bot.engine.paid_calls import PaidCalls, Tier
from bot.engine.parts import Parts
from bot.engine.pasts import Pasts
from bot.engine.personas import Personas
from bot.engine.places import Places
from bot.engine.privacy import Privacy
from bot.engine.recalling import Recaller
from bot.engine.recent_vectors import RecentVectors
from bot.engine.reflecting import Reflector
from bot.engine.replies import Replies
from bot.engine.retention import Retention
from bot.engine.samples import Samples
from bot.engine.scenes import Scenes
from bot.engine.screening import Screening
from bot.engine.sharing import Sharing
from bot.engine.silence import Silence
from bot.engine.sleeping import Sleep
from bot.engine.slots import FairSlots
from bot.engine.state import PlaceState
from bot.engine.storage_trouble import StorageTrouble
from bot.engine.story_words import StoryWords
from bot.engine.summarising import Summariser
from bot.engine.thrift import Thrift
from bot.engine.troupe import Troupe
from bot.engine.trust import Trust
from bot.engine.unlearning import Unlearning
from bot.engine.unplayed import Unplayed
from bot.engine.usage import Usage


def assemble(parts: Parts) -> Troupe:
    """Give every part of the engine what it uses. Nothing runs yet: `Troupe.prepare` starts it."""
    store, now = parts.store, parts.now
    live = LiveScenes()
    places = Places(live=live)
    slots = FairSlots(parts.concurrency)
    health = ModelHealth(parts.chat.name)
    options = Options(store=store.settings)
    limits = Limits(store=store.usage, options=options, ceilings=parts.spending.ceilings, now=now)
    rates, jobs = Rates(now=now), Jobs()
    crowd = Crowd(slots=parts.concurrency, rates=rates)
    calls = behind = PaidCalls(
        limits=limits,
        slots=slots,
        crowd=crowd,
        tier=Tier(parts.chat, parts.spending.price),
        cheap=parts.spending.cheap,
    )
    if parts.background is not parts.chat:
        tier = Tier(parts.background, parts.spending.background_price)
        behind = PaidCalls(limits=limits, slots=FairSlots(parts.concurrency), crowd=crowd, tier=tier)
    words = StoryWords(memories=store.memories, stemmer_of=parts.stemmer_of)
    notices = Notices(messenger=parts.messenger, now=now)
    silence = Silence(options=options)
    guard = Guard(options=options, moderation=parts.moderation)
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
    recent = RecentVectors()

    def felt(place_id: int, feelings: list[Feeling]) -> None:
        actor = places.awake(place_id)
        if actor is not None:
            actor.later(lambda state: conduct.felt(state, feelings))

    indexer = Indexer(
        recent=recent,
        memories=store.memories,
        index=parts.index,
        encoder=parts.encoder,
        scorer=parts.scorer,
        felt=felt,
        erase_bytes=store.erase_bytes,
        now=now,
    )
    wake = indexer.wake
    unlearning = Unlearning(words=words, places=places, wake_indexer=wake)
    pasts = Pasts(store=store.pasts, memories=store.memories, unlearning=unlearning, wake_indexer=wake)
    sharing = Sharing(links=store.links, scenes=store.scenes, channels=parts.channels)
    recaller = Recaller(
        sharing=sharing,
        recent=recent,
        pasts=pasts,
        memories=store.memories,
        index=parts.index,
        encoder=parts.encoder,
        scorer=parts.scorer,
        words=words,
    )

    async def take_notes(state: PlaceState, notes: Scratchpad) -> None:
        await conduct.take_notes(state, notes)

    summariser = Summariser(
        turns=store.turns,
        scenes=store.scenes,
        personas=store.personas,
        memories=store.memories,
        index=parts.index,
        reflector=Reflector(
            knowledge=store.knowledge,
            memories=store.memories,
            prompts=parts.prompts,
            context_tokens=parts.background_context,
            count=parts.background.count_tokens,
        ),
        known_facts=KnownFacts(
            knowledge=store.knowledge, memories=store.memories, index=parts.index, encoder=parts.encoder
        ),
        places=places,
        calls=behind,
        prompts=parts.prompts,
        context_tokens=parts.background_context,
        score_emotions=parts.score_emotions,
        take_notes=take_notes,
        wake_indexer=wake,
        now=now,
    )
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
        words=words,
        addressing=addressing,
        delivery=delivery,
        notices=notices,
        summariser=summariser,
        wake_indexer=wake,
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
    relations = Relations(knowledge=store.knowledge)
    samples = Samples(store=store.personas)
    explainer = Explainer(store=store.explanations, memories=store.memories, turns=store.turns)
    gatherer = Gatherer(
        recaller=recaller,
        knowledge=store.knowledge,
        relations=relations,
        explainer=explainer,
        lore=lore,
        samples=samples,
        causes=MoodCauses(turns=store.turns),
        prompts=parts.prompts,
        count=parts.chat.count_tokens,
        calm=indexer.calm,
        now=now,
    )
    conversation = Conversation(
        guard=guard,
        conduct=conduct,
        gatherer=gatherer,
        explainer=explainer,
        delivery=delivery,
        notices=notices,
        calls=calls,
        crowd=crowd,
        thrift=Thrift(
            limits=limits,
            store=store.usage,
            options=options,
            notices=notices,
            channels=parts.channels,
            delivery=delivery,
            currency=parts.spending.currency,
            has_cheaper=calls.has_cheaper,
        ),
        messenger=parts.messenger,
        prompts=parts.prompts,
        health=health,
        trouble=trouble,
        context_tokens=parts.context_tokens,
        reply_tokens=parts.reply_tokens,
        sampling=parts.sampling,
        on_stream=parts.on_stream,
        now=now,
    )
    places.use(conduct, conversation.answer, notices.trouble)
    journal = Journal(
        turns=store.turns,
        live=live,
        tell=places.tell,
        trouble=trouble,
        stumbled=notices.trouble,
        read_missed=lambda: jobs.start(troupe.read_missed(), name="read what found no room"),
    )
    notes = Service(jobs, summariser.run, name="summariser")
    privacy = Privacy(
        store=store.privacy,
        ledger=parts.ledger,
        eraser=Eraser(
            store=store.privacy,
            ledger=parts.ledger,
            indexer=indexer,
            remove_copies=parts.remove_copies,
            now=now,
        ),
        journal=journal,
        places=places,
        live=live,
        options=options,
        words=words,
        delivery=delivery,
        notes=notes,
        counted=limits.settled,
        jobs=jobs,
    )
    privacy.on_forgotten(rates.forget)
    trust = Trust(
        channels=parts.channels,
        guard=guard,
        approval=Approval(store=store.personas, channels=parts.channels),
        sharing=sharing,
        screening=Screening(guard=guard, notices=notices),
        sleep=Sleep(
            silence=silence,
            options=options,
            places=places,
            conduct=conduct,
            delivery=delivery,
            turns=store.turns,
            notices=notices,
        ),
        audit=Audit(store=store.audit, options=options, channels=parts.channels, notices=notices),
    )
    troupe = Troupe(
        trust=trust,
        personas=personas,
        samples=samples,
        pasts=pasts,
        drafts=Drafts(
            calls=calls,
            prompts=parts.prompts,
            sampling=parts.sampling,
            context_tokens=parts.context_tokens,
        ),
        lore=lore,
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
            unlearning=unlearning,
            wake_indexer=wake,
            now=now,
        ),
        relations=relations,
        usage=Usage(store=store.usage, limits=limits, personas=store.personas, spending=parts.spending),
        explainer=explainer,
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
            wake_indexer=wake,
            note_uncovered=summariser.note,
        ),
        memories=Memories(
            store=store.memories,
            knowledge=store.knowledge,
            scenes=store.scenes,
            turns=store.turns,
            recaller=recaller,
            journal=journal,
            unlearning=unlearning,
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
        overheard=Overheard(journal=journal, places=places, conduct=conduct, addressing=addressing),
        unplayed=Unplayed(
            personas=store.personas, turns=store.turns, options=options, notices=notices, now=now
        ),
        health_report=Health(
            model=health,
            encoder=parts.encoder,
            memories=store.memories,
            summariser=summariser,
            trouble=trouble,
            degraded=parts.degraded,
            model_lines=parts.model_lines,
            disk=parts.disk,
        ),
        places=places,
        live=live,
        journal=journal,
        conduct=conduct,
        delivery=delivery,
        notices=notices,
        indexer=indexer,
        summariser=summariser,
        words=words,
        store=store.scenes,
        messenger=parts.messenger,
        jobs=jobs,
        notes=notes,
    )
    return troupe
