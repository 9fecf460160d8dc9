"""What an actor knows of its place, and the frozen view of it that a reply works from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from bot.core.mood import Mood
from bot.core.types import Alias, Persona, Place, Scene, Scratchpad, Turn
from bot.core.window import Speaker


def is_unwritten(turn: Turn) -> bool:
    """Whether a turn stands nowhere but in memory: a member said it who opted out (its id is negative)."""
    return turn.id < 0


def newest_unwritten(turns: Iterable[Turn]) -> int:
    """The newest message of the unwritten ones among these turns; 0 without any."""
    return max((-turn.id for turn in turns if is_unwritten(turn)), default=0)


@dataclass(frozen=True, slots=True)
class Address:
    """A turn that asks a persona for an answer, not before a moment (proxy apps may yet delete it)."""

    turn: Turn
    persona_id: int
    not_before: datetime


@dataclass(frozen=True, slots=True)
class ReplyRequest:
    """Everything one reply needs, as it was when the reply began."""

    place: Place
    scene: Scene
    persona: Persona
    cast: tuple[Persona, ...]
    aliases: Mapping[int, Alias]
    window: tuple[Turn, ...]
    """What the persona witnessed, oldest first, the turns to answer among them."""
    start_id: int
    """The turn the window began with in the last prompt; 0 when there was none."""
    speakers: tuple[Speaker, ...]
    """Members of the scene in the order they first spoke."""
    scratchpad: Scratchpad
    mood: Mood
    answers: tuple[Turn, ...]
    options: Mapping[str, object]
    cooling: frozenset[int]
    """Memories recalled so lately that they should not nag."""
    began: datetime
    held: Scratchpad | None = None
    """The notes that the last prompt showed."""
    window_share: float = 1.0
    """The share of the context that the prompt may take: less as a limit of spending comes near."""
    cheaper: bool = False
    """Whether the cheaper model answers, where there is one."""

    @property
    def answered_message(self) -> int | None:
        """The last message of those who waited for it."""
        return self.answers[-1].last_message

    @property
    def history(self) -> tuple[Turn, ...]:
        """The window without the turns to answer."""
        answering = {turn.id for turn in self.answers}
        return tuple(turn for turn in self.window if turn.id not in answering)


@dataclass(frozen=True, slots=True)
class Told:
    """What a prompt tells beside the window and the notes of its scene, by ids."""

    memories: frozenset[int] = frozenset()
    turns: frozenset[int] = frozenset()
    """Those that style samples and the reason of a mood come from."""
    scenes: frozenset[int] = frozenset()
    """Those that standing instructions come from, beside the scene itself."""

    def meets(self, other: Told) -> bool:
        """Whether both name something in common."""
        pairs = (
            (self.memories, other.memories),
            (self.turns, other.turns),
            (self.scenes, other.scenes),
        )
        return any(not mine.isdisjoint(theirs) for mine, theirs in pairs)

    def joined(self, other: Told) -> Told:
        """Both as one."""
        return Told(self.memories | other.memories, self.turns | other.turns, self.scenes | other.scenes)


@dataclass(slots=True, eq=False)
class RunningReply:
    """A reply in progress. `wanted` turns false when it must not be posted any more."""

    request: ReplyRequest
    addresses: tuple[Address, ...]
    task: asyncio.Task[None] | None = None
    wanted: bool = True
    committed: bool = False
    told: Told = Told()
    """What its prompt tells; nothing while that is still being gathered."""
    changed: Told = Told()
    """What was edited or deleted since the gathering began."""
    yields: bool = False
    """Whether it is made anew when others ask: it answers nobody but who asks far too often."""
    nudge: Callable[[], None] = lambda: None
    """Has the place look whether somebody else should come before or with it."""
    elsewhere: Callable[[], bool] | None = None
    """While it waits for the model: whether those whom it answers wait in other channels as well."""

    def waits(self, elsewhere: Callable[[], bool]) -> None:
        """Its prompt is made; from now on it waits for the model."""
        self.elsewhere = elsewhere
        self.nudge()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Its turn has come."""
        self.elsewhere = None
        yield

    @property
    def gives_way(self) -> bool:
        """Whether somebody else who asks should not have to wait for it."""
        asks_everywhere = self.elsewhere is not None and self.elsewhere()
        return self.wanted and not self.committed and (self.yields or asks_everywhere)

    def gathering(self) -> None:
        """What the prompt tells is read from now on: what changed before is known."""
        self.told = self.changed = Told()

    def tells(self, told: Told) -> bool:
        """Note what the prompt tells; False when something of it changed while it was gathered."""
        self.told = told
        return not told.meets(self.changed)

    def is_touched(self, turn_ids: Collection[int], changed: Told) -> bool:
        """Take in that this changed. True when the reply is still in the making from a prompt that holds one
        of these turns, a note of one, or something else that changed."""
        self.changed = self.changed.joined(changed)
        pads = (self.request.scratchpad, self.request.held)
        noted = {source for pad in pads if pad for line in pad.lines for source in line.sources}
        known = noted.union(turn.id for turn in self.request.window)
        shown = not known.isdisjoint(turn_ids) or self.told.meets(changed)
        return self.wanted and not self.committed and shown

    def cancel(self) -> None:
        """Stop, unless it is already being posted."""
        if not self.committed:
            self.wanted = False
            if self.task is not None:
                self.task.cancel()


@dataclass(slots=True)
class PlaceState:
    """The state of a place. Only its actor changes it."""

    place: Place
    scene: Scene | None = None
    personas: dict[int, Persona] = field(default_factory=dict)
    aliases: dict[int, Alias] = field(default_factory=dict)
    window: list[Turn] = field(default_factory=list)
    loaded_to: int = 0
    """Turns up to this id were in the store when the window was read: told of again, they change nothing."""
    owed: frozenset[int] = frozenset()
    """Turns that were found unanswered then, also later ones: who answers them has been decided."""
    is_long: bool = False
    """Whether its story was so long, when it was read, that reading all of its memories takes a while."""
    start_ids: dict[int, int] = field(default_factory=dict)
    """Persona id to the turn its last prompt's window began with."""
    held: dict[int, Scratchpad] = field(default_factory=dict)
    """Persona id to the notes that its last prompt showed; none after a turn was edited or deleted."""
    speakers: list[Speaker] = field(default_factory=list)
    """Members of the scene in the order they first spoke."""
    uncovered: int = 0
    """Turns that no scratchpad revision covers yet."""
    scratchpad: Scratchpad = field(default_factory=lambda: Scratchpad(scene_id=0))
    source_witnesses: dict[int, frozenset[int]] = field(default_factory=dict)
    """Who witnessed the turns that the notes come from."""
    moods: dict[int, Mood] = field(default_factory=dict)
    pending: list[Address] = field(default_factory=list)
    served: set[int] = field(default_factory=set)
    """Members who had their turn while others wait."""
    reply: RunningReply | None = None
    replies: int = 0
    recalled: dict[int, int] = field(default_factory=dict)
    """Memory id to the number of the reply that last recalled it."""
    answered_at: dict[int, datetime] = field(default_factory=dict)
    cooled: set[int] = field(default_factory=set)
    """Members who were told of their cooldown since their last answer."""
    hold_until: datetime | None = None
    """No attempt before this: the model failed a moment ago."""

    def take_next(self) -> tuple[Address, ...]:
        """Take out who is answered next, by one persona: members take turns, so that one who asks many
        personas keeps nobody waiting."""
        if all(address.turn.owner_id in self.served for address in self.pending):
            self.served.clear()
        first = next(one for one in self.pending if one.turn.owner_id not in self.served)
        taken = [one for one in self.pending if one.persona_id == first.persona_id]
        self.pending = [one for one in self.pending if one.persona_id != first.persona_id]
        self.served.update(one.turn.owner_id for one in taken)
        return tuple(sorted(taken, key=lambda one: (one.turn.created_at, one.turn.id)))

    def regroup(self) -> None:
        """A reply that gives way is made anew when others ask: whoever has many replies waiting elsewhere
        must not have this channel wait with them."""
        reply = self.reply
        if reply is None or not reply.gives_way:
            return
        answered = {address.turn.owner_id for address in reply.addresses}
        if any(address.turn.owner_id not in answered for address in self.pending):
            reply.cancel()
            self.pending = [*self.pending, *reply.addresses]

    def unlearn(self, memory_ids: Collection[int]) -> None:
        """A reply in the making that was told one of these memories is made anew."""
        reply = self.reply
        if reply is not None and reply.is_touched((), Told(memories=frozenset(memory_ids))):
            reply.cancel()
            self.pending = [*reply.addresses, *self.pending]

    def forget_members(self, leaving: int) -> None:
        """Stop a reply in the making, and let go of what is known of members until the next load. What no
        store would bring back waits on, but for what the one said who is `leaving`."""
        reply = self.reply
        made = reply.addresses if reply is not None and reply.wanted and not reply.committed else ()
        waiting = [one for one in (*made, *self.pending) if is_unwritten(one.turn)]
        self.pending = [one for one in waiting if one.turn.owner_id != leaving]
        if reply is not None:
            reply.cancel()
        self.window, self.speakers = [], []
        self.aliases, self.answered_at, self.cooled, self.served = {}, {}, set(), set()

    @property
    def cast(self) -> tuple[Persona, ...]:
        """The personas present, in the order they joined."""
        if self.scene is None:
            return ()
        return tuple(self.personas[pid] for pid in self.scene.cast if pid in self.personas)

    @property
    def named_members(self) -> tuple[str, ...]:
        """The names of the members who took one for this scene."""
        return tuple(dict.fromkeys(alias.name for alias in self.aliases.values()))

    @property
    def last_speaker(self) -> int | None:
        """The persona that spoke last in the window."""
        return next((turn.persona_id for turn in reversed(self.window) if turn.persona_id), None)
