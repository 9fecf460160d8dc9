"""One member in every table: counted, exported, erased, and nobody else touched."""

from __future__ import annotations

import json
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.sql_store import SqlStore
from bot.adapters.sql_store.tables import metadata
from bot.core.spending import Entry, GroupBy, Mark, Payer, Spent
from bot.core.stores import Recorded
from bot.core.trust import Link, ModeratorAction
from bot.core.types import Alias, Line, MemoryKind, Persona, Place, Turn, TurnDraft
from tests.adapters.sql_store.helpers import NOON, Stage, bytes_of, persona, set_stage
from tests.records import newest_turns, sql

ZAN, BOB = 987654321, 55
DIRECT = Place(id=7000, guild_id=0, name="direct messages")
TAVERN = Place(id=500, guild_id=9, name="tavern")
MARK = "xyzzyplugh"


async def other(stage: Stage, text: str, message: int) -> Turn:
    return await stage.say(text, message, owner_id=BOB, speaker="Bob")


async def fill(store: SqlStore, stage: Stage) -> list[Turn]:
    """The marked member in every table, beside Bob."""
    first = await stage.say(f"My secret is {MARK}.", 11, owner_id=ZAN, speaker="Zanzibar")
    bob = await other(stage, "Zanzibar, what did you say?", 12)
    late = await stage.say("Nothing at all.", 13, owner_id=ZAN, speaker="The Fox", reply_to=12)
    await other(stage, "I answer you.", 14)
    reply, rows = await store.turns.commit_reply(
        stage.spoken(f"So {MARK}, Zanzibar?"), ["a", "b"], [first.id]
    )
    await store.turns.sent(rows[0].id, 21)
    hello, _ = await store.turns.commit_reply(stage.spoken("Welcome, Zanzibar and Bob."), ["one"], [bob.id])
    await store.scenes.set_alias(Alias(stage.scene.id, ZAN, "The Fox", "https://example.org/fox.png"))
    await store.scenes.set_alias(Alias(stage.scene.id, BOB, "The Bear"))
    pad = await store.scenes.scratchpad(stage.scene.id)
    lines = [
        Line("now", f"There is {MARK}.", (first.id, bob.id)),
        Line("people", "ZANZIBAR is mentioned by Bob.", (bob.id,)),
        Line("people", "Bob is curious.", (bob.id,)),
    ]
    facts = [
        stage.note(f"Knows {MARK}.", first.id, owner_ids=(ZAN,), subject="Zanzibar"),
        stage.note("Bob likes Zanzibar.", bob.id, owner_ids=(BOB,), subject="Bob"),
        stage.note("Bob is curious.", bob.id, owner_ids=(BOB,), subject="Bob"),
        stage.note("Bob owes a coin.", bob.id, owner_ids=(BOB,)),
        stage.note("Old line.", late.id, kind=MemoryKind.SNAPSHOT, owner_ids=(ZAN,)),
    ]
    covered = [first.id, bob.id, late.id, reply.id, hello.id]
    assert await store.scenes.rewrite(pad, lines, covered, facts) is not None
    await store.personas.add_sample(stage.persona.id, f"So {MARK}?", reply.id)
    await store.personas.add_sample(stage.persona.id, "Sit down, Zanzibar.", None)
    await store.personas.add_sample(stage.persona.id, "Sit down, Bob.", None)
    await store.scenes.update(stage.scene.id, situation="Zanzibar arrives.")
    await know(store)
    await moderate(store)
    await spend(store, TAVERN, stage.persona.id)
    await direct(store)
    return [first, bob, late, reply, hello]


async def know(store: SqlStore) -> None:
    """Facts about somebody, and further keys of a fact."""
    fact = "(SELECT id FROM memories WHERE text = 'Bob {}.')".format
    columns = "id, story_id, kind, owner_id, persona_id, folded_name, name"
    statements = (
        f"INSERT INTO entities ({columns}) VALUES (1, 1, 'member', {ZAN}, 0, 'zanzibar', 'Zanzibar')",
        f"INSERT INTO entities ({columns}) VALUES (2, 1, 'person', 0, 0, 'the fox', 'The Fox')",
        f"INSERT INTO entities ({columns}) VALUES (3, 1, 'person', 0, 0, 'bob', 'Bob')",
        f"INSERT INTO memory_subjects VALUES ({fact('owes a coin')}, 2), ({fact('is curious')}, 3)",
        f"INSERT INTO triggers (memory_id, text) VALUES ({fact('is curious')}, 'when Zanzibar asks')",
        f"INSERT INTO triggers (memory_id, text) VALUES ({fact('is curious')}, 'when it rains')",
    )
    for statement in statements:
        await sql(store, statement)


async def moderate(store: SqlStore) -> None:
    """What the member did as a moderator, and what others did that names the member."""
    await store.audit.add(ModeratorAction(9, 500, ZAN, "scene set", "situation nothing → Zanzibar arrives."))
    await store.audit.add(ModeratorAction(9, 500, BOB, "scene start", "Zanzibar's feast"))
    await store.links.add(Link(500, 500, 9, created_by=ZAN))


async def direct(store: SqlStore) -> None:
    """What belongs to the member as a whole."""
    own: Persona = persona("Secret friend", space_id=DIRECT.id, created_by=ZAN)
    made = await store.personas.create(own)
    private = await set_stage(store, DIRECT, name="Alone", who=[made])
    await private.say("Only you know.", 31, owner_id=ZAN, speaker="Zanzibar")
    await store.settings.set_option(DIRECT.id, 0, "reply_mode", "always")
    await spend(store, DIRECT, made.id)


async def spend(store: SqlStore, place: Place, persona_id: int) -> None:
    """Answers to the member, alone and beside Bob, and a notice about it."""
    for members in ((ZAN,), (ZAN, BOB)):
        payer = Payer(place.space_id, place.id, members, persona_id)
        await store.usage.add([Entry(payer, NOON.date(), Spent(1, 100, 10, 7))])
    assert await store.usage.is_first(Mark(place.space_id, "tired", "2026-03-01", place.id, ZAN))


@pytest.fixture
async def stage(store: SqlStore) -> Stage:
    return await set_stage(store, who=[await store.personas.create(persona(created_by=ZAN))])


async def everything(store: SqlStore) -> dict[str, list[list[str]]]:
    """Every value of every table, written out."""
    return {
        table.name: [
            [str(value) for value in row] for row in await sql(store, f'SELECT * FROM "{table.name}"')
        ]
        for table in metadata.sorted_tables
    }


async def test_what_will_go_is_counted_and_nothing_changes(store: SqlStore, stage: Stage) -> None:
    await fill(store, stage)
    before = await everything(store)
    owned = await store.privacy.owned(ZAN)
    assert (owned.turns, owned.replies, owned.aliases, owned.personas) == (3, 1, 1, 2)
    assert owned.space_ids == (9, DIRECT.id)
    assert owned.newest is not None
    assert (owned.memories, owned.notes, owned.samples, owned.usage) == (4, 2, 2, 2)
    assert (await store.privacy.owned(4242)).nothing
    assert await everything(store) == before


async def test_no_row_byte_or_name_of_an_erased_member_is_left(
    store: SqlStore, stage: Stage, path: Path
) -> None:
    await fill(store, stage)
    erased = await store.privacy.erase(ZAN, number=5)
    assert await store.erase_bytes()
    for name, rows in (await everything(store)).items():
        assert all(str(ZAN) not in row for row in rows), name
    content = bytes_of(path) + bytes_of(path.with_name(path.name + "-wal"))
    for mark in (MARK, "Zanzibar", "The Fox", "fox.png", "Secret friend", "Only you know", str(ZAN)):
        assert mark.encode() not in content, mark
    assert b"ZANZIBAR" not in content
    assert (await store.privacy.owned(ZAN)).nothing
    assert erased.dropped_spaces == (DIRECT.id,)
    assert erased.dropped_places == (DIRECT.id,)
    assert erased.space_ids == (9,)
    assert erased.place_ids == (500,)
    assert await store.privacy.applied() == 5
    assert ZAN not in await store.privacy.known_members()


async def test_what_moderators_did_stays_without_the_members_id_and_name(
    store: SqlStore, stage: Stage
) -> None:
    await fill(store, stage)
    exported = await store.privacy.export(ZAN)
    assert [one["action"] for one in exported["what_you_did_as_a_moderator"]] == ["scene set"]
    assert ZAN in await store.privacy.known_members()
    await store.privacy.erase(ZAN, number=1)
    newest, oldest = await store.audit.newest(9, 9)
    assert (oldest.actor_id, oldest.detail) == (0, "situation nothing → somebody arrives.")
    assert (newest.actor_id, newest.detail) == (BOB, "somebody's feast")
    (link,) = await store.links.of_space(9)
    assert link.created_by == 0
    await store.privacy.erase_before(9, NOON + timedelta(days=99))
    assert await store.audit.newest(9, 9) == []


async def test_others_keep_what_they_said_and_what_was_made_of_it(store: SqlStore, stage: Stage) -> None:
    _, bob, *_, hello = await fill(store, stage)
    await store.privacy.erase(ZAN, number=1)
    left = [turn.text for turn in await newest_turns(store, stage.scene.id, 50)]
    assert left == ["somebody, what did you say?", "I answer you.", "Welcome, somebody and Bob."]
    assert [line.text for line in (await store.scenes.scratchpad(stage.scene.id)).lines] == [
        "Bob is curious."
    ]
    kept = [memory.text for memory in await store.memories.of_story(stage.scene.story_id)]
    assert kept == [*left, "Bob is curious."]
    assert [sample.text for sample in await store.personas.samples(stage.persona.id)] == ["Sit down, Bob."]
    assert [alias.name for alias in await store.scenes.aliases(stage.scene.id)] == ["The Bear"]
    scene = await store.scenes.get(stage.scene.id)
    assert scene is not None
    assert scene.situation == "somebody arrives."
    mira = await store.personas.get(stage.persona.id)
    assert mira is not None
    assert mira.created_by == 0
    known = await sql(store, "SELECT name FROM entities UNION SELECT text FROM triggers")
    assert {name for (name,) in known} == {"Bob", "when it rains"}
    (answered,) = await store.turns.by_ids([bob.id])
    assert answered.answered_by == hello.id
    assert bob.id in [turn.id for turn in await store.turns.uncovered(stage.scene.id, 50)]


async def test_what_was_spent_stays_counted_without_the_member(store: SqlStore, stage: Stage) -> None:
    await fill(store, stage)
    day = NOON.date()
    before = await store.usage.report(9, day, day, by=GroupBy.PERSONA)
    assert {record["day"] for record in (await store.privacy.export(ZAN))["what_answers_to_you_cost"]} == {
        day.isoformat()
    }
    await store.privacy.erase(ZAN, number=1)
    assert await store.usage.report(9, day, day, by=GroupBy.PERSONA) == before
    by_member = await store.usage.report(9, day, day, by=GroupBy.MEMBER)
    assert by_member == {"0": Spent(2, 150, 15, 11), str(BOB): Spent(0, 50, 5, 3)}
    assert (await store.usage.used(0, day, day)).tokens == 440


async def test_of_whom_only_the_spending_is_known_is_forgotten_as_well(store: SqlStore) -> None:
    await store.usage.add([Entry(Payer(9, 500, (ZAN,), 1), NOON.date(), Spent(1, 100, 10, 7))])
    assert await store.privacy.known_members() == [ZAN]
    assert (await store.privacy.owned(ZAN)).usage == 1
    assert (await store.privacy.erase(ZAN, number=1)).space_ids == (9,)
    assert await store.privacy.known_members() == []


async def test_keys_of_what_is_gone_or_reworded_leave_the_index(store: SqlStore, stage: Stage) -> None:
    first, bob, *_ = await fill(store, stage)
    ids = await store.memories.of_turns([first.id, bob.id])
    await store.memories.indexed("e", {}, list(ids.values()))
    erased = await store.privacy.erase(ZAN, number=1)
    waiting = {memory for _, memory in await store.memories.to_erase(100)}
    assert set(ids.values()) <= waiting
    assert set(ids.values()) <= set(erased.memory_ids)
    await store.memories.erased(waiting)
    assert ids[bob.id] in [memory.id for memory in await store.memories.to_index("e", 100)]


async def test_a_name_that_another_bears_is_left_alone(store: SqlStore, stage: Stage) -> None:
    await stage.say("I am one Sam.", 1, owner_id=ZAN, speaker="Sam")
    await stage.say("I am Sam, too.", 2, owner_id=BOB, speaker="Sam")
    await store.privacy.erase(ZAN, number=1)
    assert [turn.text for turn in await newest_turns(store, stage.scene.id, 9)] == ["I am Sam, too."]


async def test_a_rewrite_under_way_over_an_erased_turn_is_refused(store: SqlStore, stage: Stage) -> None:
    first, bob, *_ = await fill(store, stage)
    for turn in (first, bob):
        before = await store.scenes.scratchpad(stage.scene.id)
        if turn is first:
            await store.privacy.erase(ZAN, number=1)
            assert await store.scenes.rewrite(before, [Line("now", "…", (turn.id,))], [], []) is None
    assert await store.scenes.rewrite(before, [Line("now", "…", (bob.id,))], [], []) is not None


async def test_erasing_again_or_an_unknown_member_changes_nothing(store: SqlStore, stage: Stage) -> None:
    await fill(store, stage)
    await store.privacy.erase(ZAN, number=1)
    before = await everything(store)
    for member in (ZAN, 4242):
        erased = await store.privacy.erase(member, number=1)
        assert (erased.turns, erased.memory_ids, erased.place_ids) == (0, (), ())
    assert await everything(store) == before


async def test_a_direct_message_without_a_word_goes_when_it_is_named(store: SqlStore, stage: Stage) -> None:
    await set_stage(
        store, DIRECT, name="Alone", who=[await store.personas.create(persona(space_id=DIRECT.id))]
    )
    assert (await store.privacy.erase(ZAN, number=1)).dropped_spaces == ()
    assert (await store.privacy.erase(ZAN, number=2, space_id=DIRECT.id)).dropped_spaces == (DIRECT.id,)
    assert (await store.privacy.erase(ZAN, number=2, space_id=9)).dropped_spaces == ()
    assert await store.privacy.known_spaces() == [9]


async def test_the_export_holds_every_mark_and_is_plain_json(store: SqlStore, stage: Stage) -> None:
    await fill(store, stage)
    export = await store.privacy.export(ZAN)
    text = json.dumps(export, ensure_ascii=False)
    for mark in (
        MARK,
        "Zanzibar",
        "The Fox",
        "fox.png",
        "Secret friend",
        "Only you know",
        "Old line.",
        "always",
    ):
        assert mark in text, mark
    assert [record["text"] for record in export["what_you_said"]] == [
        f"My secret is {MARK}.",
        "Nothing at all.",
        "Only you know.",
    ]
    assert export["what_you_said"][0]["messages"] == ["11"]
    assert "Bob is curious." not in text
    assert "what did you say" not in text
    assert all(not records for records in (await store.privacy.export(4242)).values())


async def test_a_guild_goes_as_a_whole(store: SqlStore, stage: Stage, path: Path) -> None:
    await fill(store, stage)
    elsewhere = await set_stage(store, Place(id=800, guild_id=10, name="inn"))
    await elsewhere.say("We stay.", 41)
    await store.settings.set_option(9, 0, "reply_mode", "always")
    erased = await store.privacy.erase_space(9, number=3)
    assert erased.dropped_spaces == (9,)
    assert erased.dropped_places == (500,)
    assert await store.privacy.known_spaces() == [10, DIRECT.id]
    assert await store.erase_bytes()
    assert MARK.encode() not in bytes_of(path)
    assert [turn.text for turn in await newest_turns(store, elsewhere.scene.id, 9)] == ["We stay."]


async def test_a_channel_goes_and_its_keys_wait_for_the_index(store: SqlStore, stage: Stage) -> None:
    await fill(store, stage)
    cellar = await set_stage(store, Place(id=600, guild_id=9, name="cellar"), who=[stage.persona])
    turn = await cellar.say("Down here.", 51)
    memory = await cellar.memory_of(turn)
    erased = await store.privacy.erase_place(600)
    assert erased.turns == 1
    assert erased.memory_ids == (memory.id,)
    assert (9, memory.id) in await store.memories.to_erase(100)
    assert await store.scenes.place(600) is None
    assert len(await newest_turns(store, stage.scene.id, 50)) == 6
    assert (await store.privacy.erase_place(600)).turns == 0


async def test_what_is_older_than_a_moment_goes(store: SqlStore, stage: Stage) -> None:
    old = await stage.say("Long ago.", 1, created_at=NOON - timedelta(days=40))
    new = await stage.say("Just now.", 2)
    await store.memories.add(
        [
            stage.note("From both.", old.id, new.id),
            stage.note("From the new one.", new.id),
            stage.note("Old reflection.", created_at=NOON - timedelta(days=50), kind=MemoryKind.REFLECTION),
            stage.note("Old pin.", created_at=NOON - timedelta(days=50), kind=MemoryKind.PINNED),
        ]
    )
    erased = await store.privacy.erase_before(9, NOON - timedelta(days=30))
    assert erased.turns == 1
    kept = [memory.text for memory in await store.memories.of_story(stage.scene.story_id)]
    assert kept == ["Just now.", "From the new one.", "Old pin."]
    assert (await store.privacy.erase_before(9, NOON - timedelta(days=30))).turns == 0
    assert (await store.privacy.erase_before(10, NOON)).turns == 0


async def test_the_applied_number_never_goes_back(store: SqlStore) -> None:
    assert await store.privacy.applied() == 0
    await store.privacy.set_applied(7)
    await store.privacy.set_applied(3)
    assert await store.privacy.applied() == 7


async def test_messages_of_erased_turns_are_unknown_afterwards(store: SqlStore, stage: Stage) -> None:
    await fill(store, stage)
    await store.privacy.erase(ZAN, number=1)
    assert await store.turns.by_message(11) is None
    draft: TurnDraft = stage.draft("New.", 99, owner_id=ZAN, speaker="Zanzibar")
    (outcome,) = await store.turns.commit([stage.post("New.", 99, owner_id=ZAN, speaker="Zanzibar")])
    assert isinstance(outcome, Recorded)
    assert outcome.turn.text == draft.text


def test_every_column_that_holds_a_member_is_known() -> None:
    """A new table with somebody's id in it must be thought of in `erasing` and `member_rows`."""
    members = {
        f"{table.name}.{column.name}"
        for table in metadata.sorted_tables
        for column in table.c
        if column.name
        in ("owner_id", "member_id", "user_id", "author_id", "created_by", "added_by", "by", "actor_id")
    }
    handled = {"aliases.owner_id", "turns.owner_id", "memory_owners.owner_id", "entities.owner_id"}
    handled |= {"usage_shares.member_id", "usage_notices.member_id"}
    signed = {name for name in members if name.endswith((".created_by", ".added_by", ".actor_id"))}
    assert members - signed <= handled
    assert sqlite3.sqlite_version_info >= (3, 35)
