"""Creating, changing and finding personas."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.core import cards
from bot.core.budgets import Budgets
from bot.core.card_file import read_card
from bot.core.character import in_a_line
from bot.core.extensions import with_own
from bot.core.names import fold
from bot.core.stores import PersonaRevision, PersonaStore
from bot.core.types import NOBODY, Persona, StyleSample
from bot.core.window import Count
from bot.engine.actor import Change
from bot.engine.conduct import Conduct
from bot.engine.live import LiveScenes
from bot.engine.places import Places
from bot.engine.state import PlaceState
from bot.errors import UserFacing

NAME_LIMIT = 80
SHOWN_TO_THE_MODEL = ("system_prompt", "description", "personality", "scenario")


class Personas:
    """The personas of every space. Permissions are the caller's job."""

    def __init__(
        self,
        *,
        store: PersonaStore,
        places: Places,
        conduct: Conduct,
        live: LiveScenes,
        count: Count,
        room: Budgets,
    ) -> None:
        """`count` and `room` are those of the model that will speak for the personas."""
        self._count = count
        self._card_room = room.system - room.scratchpad - room.standing
        self._character_room = room.character
        self._store = store
        self._places = places
        self._conduct = conduct
        self._live = live
        self._changing = asyncio.Lock()

    async def create(
        self,
        space_id: int,
        *,
        name: str,
        description: str = "",
        personality: str = "",
        greeting: str = "",
        examples: str = "",
        by: int = NOBODY,
        approved: bool = True,
    ) -> Persona:
        """Make a persona from plain texts. `UserFacing` when the name is bad or taken. One that is not
        `approved` waits for a moderator, and nobody finds it until then."""
        card = cards.new_card(
            name=name, description=description, personality=personality, greeting=greeting, examples=examples
        )
        return await self.add(space_id, card, by=by, name=name, approved=approved)

    async def add(
        self,
        space_id: int,
        card: Mapping[str, object],
        *,
        by: int = NOBODY,
        avatar: bytes | None = None,
        archive: bytes | None = None,
        name: str | None = None,
        approved: bool = True,
    ) -> Persona:
        """Make a persona from the `data` object of a card V3, under another name than the card's if given.
        The archive that it came in is kept for its export."""
        if name is not None:
            card = {**card, "name": _checked_name(name)}
        persona = Persona(
            id=0,
            space_id=space_id,
            name=_shown_name(card),
            card=card,
            temperament=cards.temperament(card),
            avatar=avatar,
            created_by=by,
            approved=approved,
        )
        made = await self._store.create(persona)
        if archive is not None:
            await self._store.keep_archive(made.id, archive)
        return made

    async def free_name(self, space_id: int, name: str) -> str:
        """A name like this that nobody of the space has: the same with the next free number."""
        taken = {fold(known.name) for known in await self._store.of_space(space_id)}
        number = 2
        while fold(f"{name[: NAME_LIMIT - 6]} ({number})") in taken:
            number += 1
        return f"{name[: NAME_LIMIT - 6]} ({number})"

    async def replace_card(
        self,
        persona_id: int,
        card: Mapping[str, object],
        *,
        avatar: bytes | None = None,
        archive: bytes | None = None,
    ) -> Persona:
        """Give a persona another whole card; it keeps its id, memories and former cards. A picture replaces
        the old one only when there is one."""
        await self._get(persona_id)
        await self._store.keep_archive(persona_id, archive)
        return await self.change(
            persona_id,
            lambda persona: _with_card(persona, card, persona.avatar if avatar is None else avatar),
        )

    async def change(self, persona_id: int, change: Callable[[Persona], Persona]) -> Persona:
        """Store what `change` makes of the persona as it is. Of several at once none is lost."""
        async with self._changing:
            stored = await self._store.update(change(await self._get(persona_id)))
        await self._tell_places(stored, self._conduct.load)
        return stored

    async def archive(self, persona: Persona) -> bytes | None:
        """The archive that the persona's card came in, when it holds more than the card."""
        return await self._store.archive(persona.id)

    async def exported(self, persona: Persona) -> dict[str, Any]:
        """The `data` object of the persona's card as it leaves: everything there is of it."""
        card = {"spec": "chara_card_v3", "data": dict(persona.card)}
        return (await asyncio.to_thread(read_card, card, persona.name))[0]

    # ------------------------------------------------------------ history
    async def history(self, persona_id: int) -> list[PersonaRevision]:
        """The former cards, newest first."""
        return await self._store.revisions(persona_id)

    async def restore(self, persona_id: int, number: int) -> Persona:
        """Bring back a former card and its picture. The present ones become part of the history; memories
        stay."""
        former = await self._store.revision(persona_id, number)
        if former is None:
            raise UserFacing(f"There is no revision {number}. `/persona history` shows those there are.")
        card = {"name": former.name, **former.card}
        picture = await self._store.picture_at(persona_id, number)
        return await self.change(persona_id, lambda persona: _with_card(persona, card, picture))

    async def edit(
        self,
        persona_id: int,
        *,
        name: str | None = None,
        avatar: bytes | None = None,
        temperament: Sequence[float] | None = None,
        own: Mapping[str, object] | None = None,
        **card_fields: object,
    ) -> Persona:
        """Change some fields; the former card stays in the history, a former name in `former_names`. `own`
        are values that only Troupe knows (`bot.core.character`); None takes one away."""

        def change(persona: Persona) -> Persona:
            card: Mapping[str, object] = {**persona.card, **card_fields}
            card = with_own(card, own) if own else card
            changed = replace(persona, card=card)
            if temperament is not None:
                card = cards.with_temperament(card, temperament)
                changed = replace(changed, card=card, temperament=cards.temperament(card))
            if name is not None and name.strip() != persona.name:
                new_name = _checked_name(name)
                changed = replace(_renamed(changed, new_name), card={**card, "name": new_name})
            return changed if avatar is None else replace(changed, avatar=avatar, avatar_url=None)

        return await self.change(persona_id, change)

    async def restrict(self, persona_id: int, *, age_restricted: bool) -> Persona:
        """Whether it plays in age-restricted channels alone; elsewhere it says nothing from now on."""
        return await self.change(persona_id, lambda persona: replace(persona, age_restricted=age_restricted))

    async def delete(self, persona_id: int) -> Persona:
        """Remove the persona; it leaves every cast, what it said stays in the scenes."""
        persona = await self._get(persona_id)

        async def leave(state: PlaceState) -> None:
            state.personas.pop(persona_id, None)
            if state.reply is not None and state.reply.request.persona.id == persona_id:
                state.reply.cancel()

        await self._tell_places(persona, leave)  # before: nothing of it may be stored once it is gone
        await self._store.delete(persona_id)
        await self._tell_places(persona, self._conduct.load)
        return persona

    async def all(self, space_id: int) -> list[Persona]:
        """Every persona of the space, by name."""
        return sorted(await self._store.of_space(space_id), key=lambda persona: persona.name.casefold())

    async def find(self, space_id: int, name: str) -> Persona:
        """By name, case and width folded. `UserFacing` with near names when there is none."""
        persona = await self._store.named(space_id, name)
        if persona is not None:
            return persona
        names = [known.name for known in await self.all(space_id)]
        if not names:
            raise UserFacing("There is no persona here yet. A moderator makes one with `/persona create`.")
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or names[:10]
        raise UserFacing(f"There is no persona called “{name[:80]}”. Did you mean: {', '.join(near)}?")

    async def samples(self, persona_id: int) -> list[StyleSample]:
        """The replies that are replayed to keep its voice."""
        return await self._store.samples(persona_id)

    async def renew_samples(self, persona_id: int) -> None:
        """Forget them; the next good replies take their place."""
        await self._store.drop_samples(persona_id)

    def too_large(self, persona: Persona) -> str:
        """Say that the card's texts are more than the model's context has room for; "" when they fit."""
        tokens = sum(self._count(persona.text(field)) for field in SHOWN_TO_THE_MODEL)
        tokens += min(self._count(in_a_line(persona.card)), self._character_room)
        if tokens <= self._card_room:
            return ""
        return (
            f"Its texts take about {tokens:,} tokens, and the model's context has room for "
            f"{self._card_room:,} of a card: what stands last in them is left out of prompts. "
            "Shorten them with `/persona edit`."
        )

    async def by_id(self, persona_id: int) -> Persona:
        """`UserFacing` when it no longer exists."""
        return await self._get(persona_id)

    async def _tell_places(self, persona: Persona, change: Change[None]) -> None:
        """The places where the persona is present take over what changed at once."""
        for place in self._live.places():
            live = self._live.get(place.id)
            if live is not None and persona.id in live.scene.cast:
                await self._places.do(place, change)

    async def _get(self, persona_id: int) -> Persona:
        persona = await self._store.get(persona_id)
        if persona is None:
            raise UserFacing("That persona no longer exists. `/persona list` shows those there are.")
        return persona


def _with_card(persona: Persona, card: Mapping[str, object], avatar: bytes | None) -> Persona:
    named = _renamed(persona, _shown_name(card))
    changed = replace(named, card=card, temperament=cards.temperament(card))
    return changed if avatar == persona.avatar else replace(changed, avatar=avatar, avatar_url=None)


def _renamed(persona: Persona, name: str) -> Persona:
    former = tuple(dict.fromkeys((*persona.former_names, persona.name)))
    former = former if name != persona.name else persona.former_names
    return replace(persona, name=name, former_names=tuple(old for old in former if old != name))


def _shown_name(card: Mapping[str, object]) -> str:
    """A card may have a longer name than Discord shows."""
    return _checked_name(" ".join(str(card.get("name", "")).split())[:NAME_LIMIT])


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not fold(name):  # invisible characters alone would be a name that nobody can choose or see
        raise UserFacing("A persona needs a name of 1 to 80 characters.")
    if len(name) > NAME_LIMIT:
        raise UserFacing(f"That name has {len(name)} characters; a persona's name has at most {NAME_LIMIT}.")
    return name
