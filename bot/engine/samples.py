"""A persona's voice in one place: the replies that keep it, and whether its last ones left them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from bot.core import samples as core
from bot.core.cards import style_samples
from bot.core.mood import current
from bot.core.names import called
from bot.core.stores import PersonaStore
from bot.core.types import Persona, Place, StyleSample
from bot.core.voice import REPLIES, Drift, drift
from bot.engine.state import ReplyRequest
from bot.errors import UserFacing

MOST_REMEMBERED = 1000
"""For so many places and personas it is known which samples the last prompt showed."""
LONGEST_GIVEN = 600
MOST_GIVEN = 12
OTHERS_HEARD = 12
"""Turns of others that tell which language is spoken now."""


@dataclass(frozen=True, slots=True)
class Voice:
    """What one reply needs of the persona's voice."""

    here: tuple[StyleSample, ...] = ()
    """All samples of the place."""
    shown: tuple[StyleSample, ...] = ()
    """Those that its prompt tells."""
    drift: tuple[Drift, ...] = ()
    """In what ways its last replies left them."""


class Samples:
    """Permissions are the caller's job. A sample may quote what only its place should know: it is shown,
    changed and replayed there alone. What a moderator gave in words belongs to the persona everywhere."""

    def __init__(self, *, store: PersonaStore) -> None:
        self._store = store
        self._shown: OrderedDict[tuple[int, int], frozenset[int]] = OrderedDict()

    async def of(self, persona_id: int, place_id: int) -> list[StyleSample]:
        """The samples that may be seen and replayed in a place, oldest first."""
        known = await self._store.samples(persona_id)
        return [sample for sample in known if sample.place_id in {None, place_id}]

    async def for_reply(self, request: ReplyRequest) -> Voice:
        """The samples for a prompt, and how the last replies compare with all there are."""
        persona, place_id = request.persona, request.place.id
        here = await self.of(persona.id, place_id)
        key = (place_id, persona.id)
        shown = core.fitting(here, current(request.mood), shown=self._shown.get(key, ()))
        self._shown[key] = frozenset(sample.id for sample in shown)
        self._shown.move_to_end(key)
        while len(self._shown) > MOST_REMEMBERED:
            self._shown.popitem(last=False)
        return Voice(tuple(here), shown, _drift(request, here))

    # ------------------------------------------------------------ asked for by moderators
    async def pin(self, persona: Persona, place: Place, sample_id: int, *, pinned: bool) -> StyleSample:
        """Keep a sample whatever comes, or no longer. UserFacing when it is not one of this place."""
        sample = await self._find(persona, place, sample_id)
        await self._store.pin_sample(sample.id, pinned)
        return sample

    async def drop(self, persona: Persona, place: Place, sample_id: int) -> StyleSample:
        """Take one away, pinned or not. UserFacing when it is not one of this place."""
        sample = await self._find(persona, place, sample_id)
        await self._store.drop_sample(sample.id)
        return sample

    async def renew(self, persona: Persona, place: Place) -> None:
        """Forget all of this place but the pinned ones; the next good replies take their place."""
        await self._store.drop_samples(persona.id, place.id)

    async def give(self, persona: Persona, text: str) -> None:
        """Add one in words. UserFacing when there is none, or too much."""
        text = text.strip()
        if not text or len(text) > LONGEST_GIVEN:
            raise UserFacing(f"A sample needs 1 to {LONGEST_GIVEN} characters.")
        given = [one for one in await self._store.samples(persona.id) if one.turn_id is None]
        if len(given) >= MOST_GIVEN:
            raise UserFacing(f"{persona.name} has {MOST_GIVEN} given samples already. Drop one first.")
        await self._store.add_sample(persona.id, text, None)

    async def _find(self, persona: Persona, place: Place, sample_id: int) -> StyleSample:
        for sample in await self.of(persona.id, place.id):
            if sample.id == sample_id:
                return sample
        raise UserFacing("That sample is gone. `/persona style` shows those there are.")


def becomes_one(text: str, voice: Voice, request: ReplyRequest) -> bool:
    """Whether a good reply becomes a sample too: not while the voice drifts."""
    own = [turn.id for turn in request.window if turn.persona_id == request.persona.id]
    return not voice.drift and core.is_wanted(text, voice.here, own)


def _drift(request: ReplyRequest, samples: Sequence[StyleSample]) -> tuple[Drift, ...]:
    """The card's examples count as samples too: whatever a moderator wrote is in its voice."""
    persona = request.persona
    made = {sample.turn_id for sample in samples}
    own = [turn for turn in request.window if turn.persona_id == persona.id]
    if any(turn.id in made for turn in own[-REPLIES:]):
        return ()
    others = [turn.text for turn in request.window if turn.persona_id != persona.id][-OTHERS_HEARD:]
    texts = [*(sample.text for sample in samples), *style_samples(persona.card)]
    return drift([turn.text for turn in own], texts, names=called(persona), others=others)
