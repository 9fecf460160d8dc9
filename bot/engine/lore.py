"""Lore of guilds, scenes and personas: kept, edited, and chosen for each reply."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bot.core.budgets import budgets
from bot.core.card_file import lore_entries
from bot.core.kept_lore import Listed, Owner, changed, entries_of, lasting, listed, to_keep
from bot.core.lore import Scan, Verdict, activate, placed
from bot.core.lore_entries import LoreEntry, Position, read_entry, v3_book
from bot.core.lore_keys import Search, pattern_of
from bot.core.lore_store import LoreRow, LoreStore
from bot.core.macros import Macros, expand
from bot.core.prompt_parts import NO_LORE, PlacedLore
from bot.core.types import Persona, Place, Scene, Turn, TurnKind
from bot.core.window import Count, Roster
from bot.engine.conduct import perceived
from bot.engine.notices import NO_SCENE
from bot.engine.personas import Personas
from bot.engine.places import Places
from bot.engine.state import PlaceState, ReplyRequest
from bot.errors import UserFacing

SHARE = 0.15
"""Of a prompt's room, at most, for all lore together."""
SCANNED_TURNS = 100
MOST_ENTRIES = 5000
LONGEST_ENTRY = 20_000


@dataclass(frozen=True, slots=True)
class _Given:
    """What a decision looks at."""

    scene: Scene
    persona: Persona
    roster: Roster
    turns: Sequence[Turn]


class Lore:
    """Permissions are the caller's job."""

    def __init__(
        self,
        *,
        store: LoreStore,
        personas: Personas,
        places: Places,
        patterns: Callable[[], Search],
        count: Count,
        context_tokens: int,
        reply_tokens: int,
        now: Callable[[], datetime],
    ) -> None:
        """`patterns` makes a bounded search for one decision."""
        self._store = store
        self._personas = personas
        self._places = places
        self._patterns = patterns
        self._count = count
        self._budget = int(budgets(context_tokens, reply_tokens=reply_tokens).room * SHARE)
        self._now = now

    # ------------------------------------------------------------ for a reply
    async def for_reply(self, request: ReplyRequest, roster: Roster) -> PlacedLore:
        """What of the world stands in the prompt of this reply."""
        turns = (*request.history, *request.answers)
        verdicts = await self._decide(_Given(request.scene, request.persona, roster, turns))
        if not verdicts:
            return NO_LORE
        standing = [one for one in verdicts if one.entry.standing]
        others = [one for one in verdicts if not one.entry.standing]
        taken = sum(self._count(one.text) + 1 for one in standing if one.fired)
        changing = any(one.entry.enabled and one.entry.content for one in others)
        return PlacedLore(
            before=_texts(placed(standing, Position.BEFORE)),
            after=_texts(placed(standing, Position.AFTER)),
            fired=_texts(
                placed(others, Position.BEFORE)
                + placed(others, Position.AFTER)
                + sorted(placed(others, Position.AT_DEPTH), key=lambda one: -one.entry.depth)
            ),
            room=max(0, self._budget - taken) if changing else 0,
            told=tuple((lasting(one.entry.ref), one.key) for one in verdicts if one.fired),
        )

    async def told(
        self, space_id: int, persona_id: int | None, refs: Sequence[tuple[str, int | None]]
    ) -> list[tuple[str, str]]:
        """What entries told in a reply of this persona (`PlacedLore.told`) are called, and the key that made
        each fire ("" when it needed none), as they are now; those that are gone are left out."""
        theirs = [
            one
            for one in await self.all(space_id)
            if one.row or (one.persona and one.persona.id == persona_id)
        ]
        known = {lasting(one.ref): one.entry for one in theirs}
        found = []
        for ref, key in refs:
            if (entry := known.get(ref)) is not None:
                found.append(
                    (entry.title, entry.keys[key] if key is not None and key < len(entry.keys) else "")
                )
        return found

    async def explain(self, place: Place, persona: Persona | None = None) -> tuple[Persona, list[Verdict]]:
        """Which entries fire if this persona (else the last speaker) answers here now, and why or why not."""

        async def read(state: PlaceState) -> _Given:
            if state.scene is None:
                raise UserFacing(NO_SCENE)
            if not state.cast:
                raise UserFacing("Nobody is in this scene. `/scene cast add` brings a persona in.")
            wanted = persona.id if persona else state.last_speaker
            chosen = next((one for one in state.cast if one.id == wanted), None)
            if chosen is None and persona is not None:
                raise UserFacing(f"{persona.name} is not in this scene. `/scene show` tells who is.")
            chosen = chosen or state.cast[0]
            turns = tuple(turn for turn in state.window if perceived(turn, chosen.id))
            return _Given(state.scene, chosen, Roster.of(state.cast, state.speakers).joined(turns), turns)

        given = await self._places.do(place, read)
        return given.persona, list(await self._decide(given))

    async def _decide(self, given: _Given) -> tuple[Verdict, ...]:
        rows = await self._store.present(given.scene.space_id, given.scene.id, [given.persona.id])
        if not rows and not lore_entries(given.persona.card):
            return ()
        macros = Macros.of(given.persona, scene=given.scene, members=given.roster.members, now=self._now())
        said = [turn for turn in given.turns if turn.kind is not TurnKind.OUT_OF_CHARACTER]
        newest = said[-SCANNED_TURNS:]
        seed = f"{given.scene.id}:{newest[-1].id if newest else 0}"
        scan = Scan(
            texts=[f"{given.roster.label(turn)}: {turn.text}" for turn in newest],
            budget=self._budget,
            count=self._count,
            turns=len(said),
            draw=lambda entry: _drawn(f"{seed}:{entry.ref}:{entry.title}"),
            fill=lambda text: expand(text, macros),
            search=self._patterns(),
        )
        return await asyncio.to_thread(lambda: activate(entries_of(rows, given.persona), scan))

    # ------------------------------------------------------------ keeping
    async def add(
        self, owner: Owner, entries: Sequence[Mapping[str, Any]], *, book: str = "", by: int = 0
    ) -> list[LoreRow]:
        """Store entries of any format. `UserFacing` when there is nothing to say, or far too much."""
        await asyncio.to_thread(_check, entries)
        known = await self._store.of_space(owner.space_id)
        if len(known) + len(entries) > MOST_ENTRIES:
            raise UserFacing(
                f"There would be {len(known) + len(entries):,} lore entries here; "
                f"the limit is {MOST_ENTRIES:,}."
            )
        return await self._store.add(
            [
                LoreRow(
                    owner.space_id,
                    entry,
                    scene_id=owner.scene_id,
                    persona_id=owner.persona_id,
                    book=book,
                    created_by=by,
                )
                for entry in entries
            ]
        )

    async def import_book(self, owner: Owner, book: object, *, name: str = "", by: int = 0) -> list[LoreRow]:
        """Store all entries of a lorebook or world file under the book's name, else `name`."""
        try:
            kept, called = await asyncio.to_thread(to_keep, book)
        except ValueError as problem:
            raise UserFacing(str(problem)) from problem
        if not kept:
            raise UserFacing("All entries of this lorebook are empty.")
        return await self.add(owner, kept, book=(called or name)[:100], by=by)

    async def export_book(self, owner: Owner, name: str) -> dict[str, Any]:
        """The owner's entries as a lorebook V3. `UserFacing` when there are none."""
        rows = [row for row in await self._store.of_space(owner.space_id) if owner.owns(row)]
        entries = [row.entry for row in rows]
        if owner.persona_id is not None:
            persona = await self._personas.by_id(owner.persona_id)
            entries += lore_entries(persona.card)
        if not entries:
            raise UserFacing("There is no lore to export. `/lore list` shows all there is.")
        return v3_book(name, entries)

    async def all(self, space_id: int) -> list[Listed]:
        """Every entry of the space: stored ones, then those of the personas' cards."""
        personas = await self._personas.all(space_id)
        return await asyncio.to_thread(listed, await self._store.of_space(space_id), personas)

    async def find(self, space_id: int, ref: str) -> Listed:
        """The entry of that reference. `UserFacing` when there is none."""
        wanted = ref.strip().strip("`#").casefold()
        for one in await self.all(space_id):
            if one.ref.casefold() == wanted:
                return one
        raise UserFacing("There is no such lore entry. `/lore list` shows all with their numbers.")

    async def edit(self, space_id: int, ref: str, changes: Mapping[str, Any]) -> LoreEntry:
        """Change fields of an entry, in words of lorebook V3; one of a card changes the card."""
        found = await self.find(space_id, ref)
        entry = changed(found.raw, changes)
        _check([entry])
        self.check_keys([*read_entry(entry).keys, *read_entry(entry).secondary])
        if found.row is not None:
            if await self._store.update(replace(found.row, entry=entry)) is None:
                raise UserFacing("That lore entry was removed meanwhile.")
        else:
            await self._change_card(found, entry)
        return read_entry(entry, found.ref)

    async def remove(self, space_id: int, ref: str) -> LoreEntry:
        """Take an entry away, out of its card if it stands in one."""
        found = await self.find(space_id, ref)
        if found.row is not None:
            await self._store.remove(space_id, [found.row.id])
        else:
            await self._change_card(found, None)
        return found.entry

    async def remove_book(self, space_id: int, book: str) -> int:
        """Take away all that came with one lorebook; how many entries that were."""
        rows = [row for row in await self._store.of_space(space_id) if row.book and row.book == book]
        return await self._store.remove(space_id, [row.id for row in rows])

    def check_keys(self, keys: Sequence[str]) -> None:
        """`UserFacing` when a /pattern/ among the keys is broken or too slow."""
        search = self._patterns()
        for key in keys:
            pattern = pattern_of(key)
            try:
                if pattern is not None:
                    search(*pattern, "a" * 200)
            except TimeoutError as problem:
                raise UserFacing(f"The pattern `{key[:200]}` takes too long.") from problem
            except ValueError as problem:
                raise UserFacing(f"The pattern `{key[:200]}` is broken: {problem}.") from problem

    async def _change_card(self, found: Listed, entry: Mapping[str, Any] | None) -> None:
        assert found.persona is not None
        number = int(found.ref.rsplit(":", 1)[1])

        def change(persona: Persona) -> Persona:
            book, entries = persona.card.get("character_book"), list(lore_entries(persona.card))
            if not isinstance(book, Mapping) or entries[number - 1 : number] != [found.raw]:
                raise UserFacing("That lore entry was changed or removed meanwhile.")
            entries[number - 1 : number] = [] if entry is None else [entry]
            return replace(persona, card={**persona.card, "character_book": {**book, "entries": entries}})

        await self._personas.change(found.persona.id, change)


def _check(entries: Sequence[Mapping[str, Any]]) -> None:
    for entry in entries:
        if not read_entry(entry).content:
            raise UserFacing("A lore entry needs a text.")
        if len(str(entry.get("content", ""))) > LONGEST_ENTRY:
            raise UserFacing(f"A lore entry has at most {LONGEST_ENTRY:,} characters.")


def _texts(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    return tuple(one.text for one in verdicts)


def _drawn(seed: str) -> float:
    """A number from 0 to below 100 that is the same whenever the same reply is tried."""
    digest = hashlib.sha256(seed.encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:6], "big") % 10_000 / 100
