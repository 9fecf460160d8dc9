"""Nobody takes all: how often a member is answered, how many replies are in the making, who comes next."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.spending import Payer
from bot.core.types import Place, Turn, TurnKind
from bot.engine.crowd import Crowd, Crowded, Rates
from bot.engine.state import Address, PlaceState
from tests.engine.stage import ALICE, BOB, CARO, TAVERN, Stage, open_stage
from tests.fakes import ScriptedChatModel
from tests.records import unanswered_turns

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROOMS = [Place(id=1000 + number, guild_id=9, name=f"room-{number}") for number in range(8)]


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


# ---------------------------------------------------------------- how often
def test_a_member_may_ask_so_often_in_any_minute_of_a_server() -> None:
    clock = Clock()
    rates = Rates(now=clock)
    granted = []
    for _ in range(6):
        granted.append(rates.allows(9, ALICE, 3))
        clock.wait(10)
    assert granted == [True, True, True, False, False, False]
    assert [rates.allows(9, ALICE, 3) for _ in range(2)] == [True, False]
    assert rates.allows(9, BOB, 3)
    assert rates.allows(10, ALICE, 3)
    assert all(rates.allows(9, ALICE, 0) for _ in range(100))


def test_one_refusal_of_a_flood_is_told_and_again_after_a_quiet_minute() -> None:
    clock = Clock()
    rates = Rates(now=clock)
    told = []
    for _ in range(10):
        told.append(rates.is_first_refusal(9, ALICE))
        clock.wait(30)
    assert told == [True, *[False] * 9]
    assert rates.floods(9, ALICE)
    clock.wait(31)
    assert not rates.floods(9, ALICE)
    assert not rates.floods(9, BOB)
    assert rates.is_first_refusal(9, ALICE)


def test_who_is_forgotten_leaves_nothing_and_few_are_remembered() -> None:
    clock = Clock()
    rates = Rates(now=clock)
    assert rates.allows(9, ALICE, 1)
    assert rates.is_first_refusal(9, ALICE)
    rates.forget(ALICE)
    assert str(ALICE) not in str(vars(rates))
    for member in range(5000):
        rates.allows(9, member, 1)
        clock.wait(0.1)
    assert len(rates._granted) < 3000


# ---------------------------------------------------------------- how many
def payer(*members: int, space_id: int = 9) -> Payer:
    return Payer(space_id, 500, members, 1)


def test_a_server_has_so_many_replies_in_the_making_and_another_its_own() -> None:
    crowd = Crowd(slots=4, rates=Rates(now=Clock()))
    with ExitStack() as making:
        for member in range(1, 5):
            making.enter_context(crowd.entered(payer(member), 4))
        with pytest.raises(Crowded), crowd.entered(payer(77), 4):
            pass
        with crowd.entered(payer(77, space_id=10), 4), crowd.entered(payer(77), 0):
            pass
    with crowd.entered(payer(77), 4):
        pass
    assert not crowd._making


def test_one_member_fills_a_quarter_and_is_answered_with_others() -> None:
    crowd = Crowd(slots=4, rates=Rates(now=Clock()))
    with ExitStack() as making:
        for _ in range(2):
            making.enter_context(crowd.entered(payer(ALICE), 8))
        with pytest.raises(Crowded), crowd.entered(payer(ALICE), 8):
            pass
        with crowd.entered(payer(BOB), 8), crowd.entered(payer(ALICE, CARO), 8):
            pass


async def test_one_member_has_half_of_the_calls_at_most() -> None:
    crowd = Crowd(slots=4, rates=Rates(now=Clock()))
    inside: list[int] = []
    leave = asyncio.Event()

    async def call(member: int) -> None:
        async with crowd.line(9, member):
            inside.append(member)
            await leave.wait()

    tasks = [asyncio.create_task(call(member)) for member in (ALICE, ALICE, ALICE, BOB, 0, 0, 0)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert sorted(inside) == [0, 0, 0, ALICE, ALICE, BOB]
    assert crowd.member(payer(ALICE, CARO)) == CARO
    assert crowd.member(payer(ALICE, BOB)) == BOB
    assert crowd.member(payer()) == 0
    leave.set()
    await asyncio.gather(*tasks)
    assert inside.count(ALICE) == 3
    assert not crowd._lines
    assert not crowd._in_line


# ---------------------------------------------------------------- who comes next
def address(member: int, persona_id: int) -> Address:
    turn = Turn(
        id=1,
        space_id=9,
        place_id=500,
        scene_id=1,
        story_id=1,
        owner_id=member,
        speaker="somebody",
        text="…",
        kind=TurnKind.IN_CHARACTER,
        created_at=NOON,
        witnesses=(),
    )
    return Address(turn, persona_id, NOON)


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ([(ALICE, 1)], 1),
        ([(ALICE, 2), (BOB, 1)], 2),
        ([(ALICE, 1), (ALICE, 2), (ALICE, 3), (BOB, 4)], 1),
        ([(ALICE, 2), (ALICE, 3), (BOB, 3)], 2),
    ],
)
def test_whoever_waits_longest_for_their_first_answer_comes_first(
    asked: list[tuple[int, int]], first: int
) -> None:
    state = PlaceState(TAVERN, pending=[address(*one) for one in asked])
    assert state.take_next()[0].persona_id == first


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 6)), min_size=1, max_size=30))
def test_whoever_asks_one_persona_waits_for_one_answer_of_each_other(asked: list[tuple[int, int]]) -> None:
    state = PlaceState(TAVERN, pending=[address(*one) for one in asked])
    members = {member for member, _ in asked}
    rounds = 0
    alone = [member for member in members if len({p for m, p in asked if m == member}) == 1]
    while any(address.turn.owner_id in alone for address in state.pending):
        assert len({address.persona_id for address in state.take_next()}) == 1
        rounds += 1
    assert rounds <= len(members)


# ---------------------------------------------------------------- in the engine
async def rooms(stage: Stage, *names: str) -> None:
    """Personas of these names in every room."""
    personas = [await stage.persona(name) for name in names]
    for room in ROOMS:
        await stage.scene(*personas, place=room)


async def heard(stage: Stage, place: Place) -> None:
    await stage.troupe.journal.flushed()
    await stage.window(place)


async def until_asked(model: ScriptedChatModel, number: int) -> None:
    async with asyncio.timeout(30):
        while len(model.of("reply")) < number:
            await asyncio.sleep(0.005)


async def until_waiting(stage: Stage, place: Place, answers: int) -> None:
    """A reply to so many turns waits for the model."""
    async with asyncio.timeout(30):
        while True:
            actor = stage.troupe.places.awake(place.id)
            reply = actor.state.reply if actor else None
            waits = reply is not None and reply.wanted and reply.elsewhere is not None
            if reply is not None and waits and len(reply.addresses) == answers:
                return
            await asyncio.sleep(0.005)


async def test_a_flood_is_recorded_gets_one_notice_and_is_answered_so_often(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        await stage.troupe.options.set(TAVERN.space_id, 0, "member_rate", "2")
        for number in range(6):
            stage.say(f"Mira, question {number}?")
            await stage.quiet()
        assert len(stage.messenger.texts()) == 2
        ((_, notice),) = stage.messenger.notices
        assert "2 times a minute" in notice
        assert len([turn for turn in await stage.window() if turn.persona_id is None]) == 6
        async with asyncio.timeout(30):
            while len(await unanswered_turns(stage.store, 1, NOON - timedelta(days=9999))) > 0:
                await asyncio.sleep(0.01)
        stage.clock.ahead += timedelta(seconds=61)
        stage.say("Mira, and now?")
        await stage.quiet()
        assert len(stage.messenger.texts()) == 3


async def test_when_too_many_are_in_the_making_one_notice_says_so(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, gate=gate) as stage:
        await rooms(stage, "Mira")
        await stage.troupe.options.set(9, 0, "waiting_replies", "2")
        for number in range(2):
            stage.say("Mira?", by=200 + number, place=ROOMS[number])
            await heard(stage, ROOMS[number])
        await until_asked(stage.model, 2)
        stage.say("Mira?", by=ALICE, place=ROOMS[2])
        await stage.quiet(ROOMS[2])
        stage.say("Mira!", by=BOB, place=ROOMS[2])
        await stage.quiet(ROOMS[2])
        await stage.notices_out()
        assert [place_id for place_id, _ in stage.messenger.notices] == [ROOMS[2].id]
        gate.set()
        await stage.quiet(ROOMS[0])
        await stage.quiet(ROOMS[1])
        stage.say("Mira, now?", by=CARO, place=ROOMS[2])
        await stage.quiet(ROOMS[2])
        assert len(stage.messenger.said) == 3


async def test_who_asks_everywhere_keeps_no_channel_waiting_with_them(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, gate=gate, concurrency=1) as stage:
        await rooms(stage, "Mira")
        stage.say("Mira, hello from Bob.", by=BOB, place=ROOMS[0])
        await until_asked(stage.model, 1)
        stage.say("Mira, hello from Alice, as well.", by=ALICE, place=ROOMS[2])
        await until_waiting(stage, ROOMS[2], 1)
        stage.say("Mira, hello from Alice.", by=ALICE, place=ROOMS[1])
        await until_waiting(stage, ROOMS[1], 1)
        stage.say("Mira, hello from Caro.", by=CARO, place=ROOMS[1])
        await until_waiting(stage, ROOMS[1], 2)
        gate.set()
        for room in ROOMS[:3]:
            await stage.quiet(room)
        assert len(stage.model.of("reply")) == 3
        (last,) = [
            asked
            for asked in (prompt.messages[-1].content for prompt in stage.model.of("reply"))
            if "hello from Caro" in asked
        ]
        assert last.index("hello from Alice") < last.index("hello from Caro")
        assert len(stage.messenger.texts(ROOMS[1])) == 1


async def test_a_reply_to_a_flood_gives_way_to_who_asks_beside_it(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, gate=gate) as stage:
        await rooms(stage, "Mira", "Kenji")
        await stage.troupe.options.set(9, 0, "member_rate", "1")
        stage.say("Mira, answer me!", by=ALICE, place=ROOMS[0])
        await until_asked(stage.model, 1)
        stage.say("Mira, answer me now!", by=ALICE, place=ROOMS[0])
        await heard(stage, ROOMS[0])
        stage.say("Kenji, good evening.", by=BOB, place=ROOMS[0])
        await heard(stage, ROOMS[0])
        await until_asked(stage.model, 2)
        assert stage.model.cancelled == 1
        gate.set()
        await stage.quiet(ROOMS[0])
        assert [name for _, name, _ in stage.messenger.said] == ["Kenji", "Mira"]


async def test_a_reply_to_one_who_does_not_flood_is_not_given_up(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, gate=gate) as stage:
        await rooms(stage, "Mira")
        stage.say("Mira, hello.", by=ALICE, place=ROOMS[0])
        await until_asked(stage.model, 1)
        stage.say("Mira, good evening.", by=BOB, place=ROOMS[0])
        await heard(stage, ROOMS[0])
        await asyncio.sleep(0.05)
        assert stage.model.cancelled == 0
        gate.set()
        await stage.quiet(ROOMS[0])
        assert len(stage.messenger.said) == 2


async def test_in_one_channel_a_reply_keeps_its_place_in_the_line(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with open_stage(tmp_path, gate=gate, concurrency=1) as stage:
        await rooms(stage, "Mira")
        stage.say("Mira, hello from Bob.", by=BOB, place=ROOMS[0])
        await until_asked(stage.model, 1)
        stage.say("Mira, hello from Alice.", by=ALICE, place=ROOMS[1])
        await until_waiting(stage, ROOMS[1], 1)
        first = stage.troupe.places.awake(ROOMS[1].id)
        assert first is not None
        waiting = first.state.reply
        stage.say("Mira, hello from Caro.", by=CARO, place=ROOMS[1])
        await heard(stage, ROOMS[1])
        await asyncio.sleep(0.05)
        assert first.state.reply is waiting
        gate.set()
        for room in ROOMS[:2]:
            await stage.quiet(room)
        assert len(stage.messenger.texts(ROOMS[1])) == 2
