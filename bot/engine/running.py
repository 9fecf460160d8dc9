"""Everything in the engine that runs: what hears, answers and remembers."""

from __future__ import annotations

from dataclasses import dataclass

from bot.engine.addressing import Addressing
from bot.engine.assembly_memory import Remembering
from bot.engine.conduct import Conduct
from bot.engine.crowd import Crowd, Rates
from bot.engine.delivery import Delivery
from bot.engine.explaining import Explainer
from bot.engine.guarding import Guard
from bot.engine.health import ModelHealth
from bot.engine.jobs import Jobs
from bot.engine.journal import Journal
from bot.engine.limits import Limits
from bot.engine.live import LiveScenes
from bot.engine.lore import Lore
from bot.engine.notices import Notices
from bot.engine.options import Options
from bot.engine.paid_calls import PaidCalls
from bot.engine.personas import Personas
from bot.engine.places import Places
from bot.engine.relations import Relations
from bot.engine.samples import Samples
from bot.engine.silence import Silence
from bot.engine.storage_trouble import StorageTrouble


@dataclass(frozen=True, kw_only=True)
class Running:
    """Made by `bot.engine.assembly`, which hands it to those who build on it."""

    jobs: Jobs
    options: Options
    limits: Limits
    rates: Rates
    crowd: Crowd
    calls: PaidCalls
    health: ModelHealth
    live: LiveScenes
    places: Places
    silence: Silence
    guard: Guard
    notices: Notices
    trouble: StorageTrouble
    delivery: Delivery
    memory: Remembering
    addressing: Addressing
    conduct: Conduct
    personas: Personas
    samples: Samples
    lore: Lore
    relations: Relations
    explainer: Explainer
    journal: Journal
