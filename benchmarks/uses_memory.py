"""How often replies use a fact that was said long ago: recalled, and told by the model.

Sixteen facts are planted, each in a scene of its own, under three weeks of other talk that fills the window.
Then each is asked for once, through the whole bot (store, encoder, search index, recall, prompt, model): one
model call a fact, and a second only after an empty or repeated answer. The model is the one of the settings
(`LLM_BASE_URL`, `LLM_MODEL` …), without any the bundled one, which is too small to do well.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks._encoding import say
from benchmarks._recalling import MEMBER_ID, draft
from benchmarks._stage import until
from bot.adapters.sql_store import open_store
from bot.app import DATABASE, App, open_app
from bot.core import cards
from bot.core.events import MessagePosted, snowflake
from bot.core.stores import PostEntry
from bot.core.tokens import fold
from bot.core.types import Persona, Place
from bot.errors import UserFacing
from bot.settings import Settings
from tests.engine.stage import FakeMessenger

SPACE: Final = 78
PERSONA: Final = "Mira"
TALK: Final = 150
"""Turns between the fact and the question, each of a few words."""
CONTEXT: Final = 2048
REPLY_S: Final = 300.0
_TRIES: Final = 300


@dataclass(frozen=True, slots=True)
class Planted:
    """What was said, what is asked for weeks later, and the word that only who remembers can say."""

    said: str
    asked: str
    answer: str


FACTS: Final = (
    Planted("I hid the spare key under the blue beehive.", "where did I hide the spare key?", "beehive"),
    Planted("My sister married a glassblower from Tarn.", "what does my sister's husband do?", "glassblower"),
    Planted("My horse is called Quickbeam.", "what is the name of my horse?", "Quickbeam"),
    Planted("I am allergic to walnuts, they nearly killed me.", "which food nearly killed me?", "walnut"),
    Planted("I owe the miller exactly 47 crowns.", "how much money do I owe the miller?", "47"),
    Planted("The ferryman's password is marigold.", "what is the ferryman's password?", "marigold"),
    Planted("I was born in the village of Ostrava.", "in which village was I born?", "Ostrava"),
    Planted("My grandfather built a telescope out of copper.", "what did my grandfather build?", "telescope"),
    Planted("I promised to bring the abbot a barrel of cider.", "what did I promise the abbot?", "cider"),
    Planted("The scar on my hand is from a lynx.", "which animal gave me the scar on my hand?", "lynx"),
    Planted("We will meet the smugglers on the 9th at Gull Cove.", "where do we meet the smugglers?", "Gull"),
    Planted("My mother's favourite flower was the foxglove.", "what flower did my mother love?", "foxglove"),
    Planted("The thief wore a green velvet cloak.", "what did the thief wear?", "velvet"),
    Planted("I once worked as a bell founder in Lisk.", "what was my trade, in Lisk?", "founder"),
    Planted("My dog Pepper is afraid of drums.", "what is my dog afraid of?", "drum"),
    Planted("I sold my violin to pay the surgeon.", "what did I sell to pay the surgeon?", "violin"),
)
_CHATTER: Final = (
    "It has been raining since the morning.",
    "Somebody should put a log on the fire.",
    "I could eat another bowl of that stew.",
    "The cart from the market is late again.",
    "Did you hear the wind last night?",
    "These boots will not last the winter.",
    "That was a good song, sing it once more.",
    "The candles are burning low already.",
    "I slept badly, the bed is too short.",
    "Pass me the bread, would you?",
)


def run(arguments: Sequence[str], settings: Settings | None = None) -> dict[str, Any]:
    """Return for each fact whether it was `recalled` into the prompt and `used` in the reply, and the shares:
    `used` of all facts asked for, and `used_of_recalled`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks uses_memory", description=__doc__)
    parser.add_argument("--facts", type=int, default=len(FACTS), help=f"how many, at most {len(FACTS)}")
    parser.add_argument("--context", type=int, default=CONTEXT, help="CONTEXT_TOKENS of the run")
    chosen = parser.parse_args(arguments)
    facts = FACTS[: max(1, chosen.facts)]
    with tempfile.TemporaryDirectory(prefix="troupe-") as folder:
        changed = {"data_dir": Path(folder), "context_tokens": chosen.context}
        return asyncio.run(
            _run((settings or Settings.load(os.environ, console=True)).model_copy(update=changed), facts)
        )


async def _run(settings: Settings, facts: Sequence[Planted]) -> dict[str, Any]:
    places = [Place(2_000 + number, SPACE, f"room-{number}") for number in range(len(facts))]
    await _plant(settings.data_dir / DATABASE, facts, places)
    heard = FakeMessenger(lambda: datetime.now(UTC))
    rows: dict[str, dict[str, str]] = {}
    async with open_app(settings, lambda: heard) as app:
        await app.encoder.load()
        await app.troupe.indexer.catch_up()
        await app.troupe.start()
        for fact, place in zip(facts, places, strict=True):
            rows[fact.answer] = await _ask(app, heard, place, fact)
            say(f"{len(rows)} of {len(facts)}: {rows[fact.answer]}")
    recalled = [row for row in rows.values() if row["recalled"] == "yes"]
    used = [row for row in recalled if row["used"] == "yes"]
    return {
        "model": settings.model_name,
        "replies": rows,
        "facts": len(facts),
        "recalled": round(len(recalled) / len(facts), 3),
        "used": round(sum(row["used"] == "yes" for row in rows.values()) / len(facts), 3),
        "used_of_recalled": round(len(used) / max(1, len(recalled)), 3),
    }


async def _plant(database: Path, facts: Sequence[Planted], places: Sequence[Place]) -> None:
    """Let each fact be said three weeks ago, and much else since; the notes know nothing of it."""
    card = cards.new_card(
        name=PERSONA,
        description=f"{PERSONA} keeps the inn at the ford. She remembers what guests tell her.",
        personality="Warm and exact.",
        greeting="",
        examples="",
    )
    now = datetime.now(UTC)
    async with open_store(database) as store:
        persona = await store.personas.create(
            Persona(id=0, space_id=SPACE, name=PERSONA, card=card, temperament=cards.temperament(card))
        )
        for fact, place in zip(facts, places, strict=True):
            scene = await store.scenes.start(
                place, name="At the inn", location="", situation="", story=None, after=snowflake(now)
            )
            scene = await store.scenes.join(scene.id, persona.id)
            texts = [fact.said, *(_CHATTER[number % len(_CHATTER)] for number in range(TALK))]
            step = timedelta(days=21) / len(texts)
            drafts = [
                draft(scene, persona, "Alice", text, now - step * (len(texts) - number))
                for number, text in enumerate(texts)
            ]
            await store.turns.commit([PostEntry(one) for one in drafts])
            turns = await store.turns.uncovered(scene.id, len(texts))
            before = await store.scenes.scratchpad(scene.id)
            await store.scenes.rewrite(before, [], [turn.id for turn in turns], ())


async def _ask(app: App, heard: FakeMessenger, place: Place, fact: Planted) -> dict[str, str]:
    """Ask as a member and wait for the reply, or for the notice that there is none."""
    app.troupe.hear(
        MessagePosted(
            place=place,
            message_id=heard.next_id(),
            author_id=MEMBER_ID,
            author_name="Alice",
            text=f"{PERSONA}, {fact.asked}",
            mentions_bot=True,
            created_at=datetime.now(UTC),
        )
    )
    await until(lambda: heard.texts(place) or _noticed(heard, place), "a reply", REPLY_S)
    reply = " ".join(heard.texts(place)) or "(a notice instead)"
    told = bool(heard.texts(place)) and await _was_told(app, place, list(heard.arrived.values())[-1], fact)
    used = fold(fact.answer) in fold(reply)
    return {"recalled": _yes(told), "used": _yes(used), "reply": " ".join(reply.split())[:60]}


async def _was_told(app: App, place: Place, message_id: int, fact: Planted) -> bool:
    """Whether the prompt of a reply held the fact, by the account that "Why this reply?" gives."""
    for _ in range(_TRIES):
        try:
            why = await app.troupe.explainer.why(place, message_id)
            break
        except UserFacing:  # the reply is out, its account is not kept yet
            await asyncio.sleep(0.1)
    else:
        raise TimeoutError("nothing is known about a reply")
    return any(one.memory is not None and one.memory.text == fact.said for one in why.recalled)


def _noticed(heard: FakeMessenger, place: Place) -> bool:
    return any(place_id == place.id for place_id, _ in heard.notices)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
