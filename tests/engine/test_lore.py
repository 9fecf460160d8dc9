"""Lore in replies, on the whole engine."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bot.adapters.timed_patterns import TimedPatterns
from bot.core.card_file import read_card
from bot.core.kept_lore import Owner
from bot.errors import UserFacing
from tests.card_parts import v3
from tests.engine.stage import CELLAR, TAVERN, Stage, open_stage

GUILD = Owner(TAVERN.space_id)
FERRY = {"keys": ["ferry"], "content": "The ferry never moors.", "insertion_order": 1}


async def prompt_of(stage: Stage, text: str) -> tuple[str, str]:
    """The system message and the last message of the prompt that answers this."""
    stage.say(text)
    await stage.quiet()
    messages = [one for one in stage.model.prompts if one.purpose == "reply"][-1].messages
    return messages[0].content, messages[-1].content


async def test_lore_of_guild_scene_persona_and_card_reaches_the_prompt(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        card, _ = read_card(v3(character_book={"entries": [{**FERRY, "content": "Of the card."}]}))
        mira = await stage.troupe.personas.add(9, card)
        bea = await stage.persona("Bea")
        await stage.scene(mira)
        scene = await stage.troupe.scenes.current(TAVERN.id)
        assert scene is not None
        lore = stage.troupe.lore
        await lore.add(GUILD, [FERRY, {"content": "Of the world.", "constant": True}])
        await lore.add(Owner(9, scene_id=scene.scene.id), [{**FERRY, "content": "Of the scene."}])
        await lore.add(Owner(9, persona_id=mira.id), [{**FERRY, "content": "Of Mira."}])
        await lore.add(Owner(9, persona_id=bea.id), [{**FERRY, "content": "Of Bea."}])
        await lore.add(Owner(10), [{**FERRY, "content": "Of another guild."}])
        system, last = await prompt_of(stage, "Mira, where is the ferry?")
        assert "<world>\nOf the world.\n</world>" in system
        for text in ("The ferry never moors.", "Of the scene.", "Of Mira.", "Of the card."):
            assert text in last
            assert text not in system
        assert "Of Bea" not in last
        assert "another guild" not in last
        _, last = await prompt_of(stage, "Mira, and you?")
        assert "never moors" in last
        await stage.scene(mira, place=CELLAR)
        stage.say("Mira, a ferry!", place=CELLAR)
        await stage.quiet(CELLAR)
        assert "Of the scene." not in stage.model.prompts[-1].messages[-1].content


async def test_macros_of_lore_are_filled_and_members_text_is_not(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona("Mira"))
        await stage.troupe.lore.add(GUILD, [{"keys": ["{{char}}"], "content": "{{char}} knows {{user}}."}])
        _, last = await prompt_of(stage, "Mira, {{char}}?")
        assert "- Mira knows Alice." in last
        assert "Mira, {{char}}?" in last


async def test_the_budget_holds_and_explain_tells_what_it_dropped(tmp_path: Path) -> None:
    async with open_stage(tmp_path, context_tokens=2048) as stage:
        await stage.scene(await stage.persona("Mira"))
        entries = [
            {"keys": ["ferry"], "content": f"Fact {n}. " * 30, "insertion_order": n} for n in range(10)
        ]
        await stage.troupe.lore.add(GUILD, entries)
        _, last = await prompt_of(stage, "Mira, the ferry!")
        who, verdicts = await stage.troupe.lore.explain(TAVERN)
        told = [one for one in verdicts if one.fired]
        assert who.name == "Mira"
        assert 0 < len(told) < 10
        assert all(one.text in last for one in told)
        assert verdicts[-1].fired
        assert "left" in verdicts[0].why


async def test_books_of_cards_and_files_keep_to_their_token_budget(tmp_path: Path) -> None:
    def book(word: str) -> dict[str, object]:
        entries = [
            {"keys": ["ferry"], "content": f"{word} {n}. " * 8, "insertion_order": n} for n in range(4)
        ]
        return {"name": word, "token_budget": 60, "entries": entries}

    async with open_stage(tmp_path) as stage:
        card, _ = read_card(v3(character_book=book("Card")))
        await stage.scene(await stage.troupe.personas.add(9, card))
        await stage.troupe.lore.import_book(GUILD, book("World"))
        _, last = await prompt_of(stage, "Mira, the ferry!")
        _, verdicts = await stage.troupe.lore.explain(TAVERN)
        for word in ("Card", "World"):
            own = [one for one in verdicts if one.text.startswith(word)]
            told = [one.fired for one in own]
            assert told == sorted(told)  # the highest order stays
            assert 0 < sum(told) < 4
            assert "of its book's 60" in own[0].why
            assert f"{word} 3." in last
            assert f"{word} 0." not in last


async def test_explain_says_why_and_needs_a_scene(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        with pytest.raises(UserFacing, match="/scene start"):
            await stage.troupe.lore.explain(TAVERN)
        mira, bea = await stage.persona("Mira"), await stage.persona("Bea")
        await stage.scene(mira)
        await stage.troupe.lore.add(GUILD, [FERRY, {**FERRY, "keys": ["wolf"], "content": "x"}])
        await prompt_of(stage, "Mira, the ferry!")
        _, verdicts = await stage.troupe.lore.explain(TAVERN, mira)
        assert [(one.fired, one.why) for one in verdicts] == [
            (True, "“ferry” is there"),
            (False, "no key in the last 4 turns"),
        ]
        with pytest.raises(UserFacing, match="not in this scene"):
            await stage.troupe.lore.explain(TAVERN, bea)


async def test_patterns_are_bounded_in_a_reply_and_refused_when_broken(tmp_path: Path) -> None:
    async with open_stage(tmp_path, patterns=TimedPatterns) as stage:
        await stage.scene(await stage.persona("Mira"))
        lore = stage.troupe.lore
        with pytest.raises(UserFacing, match="broken"):
            lore.check_keys(["ok", "/(/"])
        bad = {"keys": ["/(a|aa)+$/"], "content": "Never."}
        await lore.add(GUILD, [bad, {"keys": ["/f.rry/i"], "content": "A pattern."}])
        began = time.monotonic()
        _, last = await prompt_of(stage, f"Mira, FERRY {'a' * 1500}!")
        assert time.monotonic() - began < 10  # for ever, without the bound
        assert "A pattern." in last
        _, (slow, _) = await lore.explain(TAVERN)
        assert "takes too long" in slow.why


async def test_entries_are_edited_and_removed_wherever_they_stand(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        card, _ = read_card(
            v3(character_book={"name": "Own", "entries": [FERRY, {**FERRY, "content": "Two."}]})
        )
        mira = await stage.troupe.personas.add(9, card)
        lore = stage.troupe.lore
        (row,) = await lore.add(GUILD, [FERRY])
        assert [one.ref for one in await lore.all(9)] == [str(row.id), "Mira:1", "Mira:2"]
        await lore.edit(9, f"#{row.id}", {"content": "New.", "extensions": {"position": 4}})
        await lore.edit(9, "mira:2", {"keys": ["barge"], "extensions": {"scan_depth": 9}})
        stored, _, second = await lore.all(9)
        assert (stored.entry.content, stored.entry.position) == ("New.", "at depth")
        assert (second.entry.keys, second.entry.scan_depth, second.entry.content) == (("barge",), 9, "Two.")
        with pytest.raises(UserFacing, match="needs a text"):
            await lore.edit(9, "Mira:1", {"content": " "})
        await lore.remove(9, "Mira:1")
        await lore.remove(9, str(row.id))
        (left,) = await lore.all(9)
        assert (left.ref, left.entry.content) == ("Mira:1", "Two.")
        assert len(await stage.troupe.personas.history(mira.id)) == 2
        for ref in ("Mira:9", "77", "", "x"):
            with pytest.raises(UserFacing, match="no such lore entry"):
                await lore.find(9, ref)


async def test_a_book_comes_in_whole_and_goes_out_whole(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        lore = stage.troupe.lore
        world = {
            "scan_depth": 2,
            "recursive_scanning": False,
            "entries": {
                "0": {"uid": 0, "key": ["ferry"], "content": "One.", "order": 5, "group": "boats"},
                "1": {"uid": 1, "key": [], "content": "Two.", "constant": True, "disable": True},
                "2": {"uid": 2, "key": ["empty"], "content": ""},
            },
        }
        rows = await lore.import_book(GUILD, world, name="Eldoria", by=5)
        assert [(row.book, row.created_by) for row in rows] == [("Eldoria", 5)] * 2
        one, two = await lore.all(9)
        assert (one.entry.scan_depth, one.entry.only_from_turns, two.entry.enabled) == (2, True, False)
        book = await lore.export_book(GUILD, "All")
        again = await lore.import_book(Owner(10), book)
        assert [(row.book, row.entry["content"]) for row in again] == [("All", "One."), ("All", "Two.")]
        assert again[0].entry["extensions"]["group"] == "boats"
        assert await lore.remove_book(9, "Eldoria") == 2
        for bad, words in (({"entries": []}, "no lore entries"), ({"entries": [{"key": ["x"]}]}, "empty")):
            with pytest.raises(UserFacing, match=words):
                await lore.import_book(GUILD, bad)
        with pytest.raises(UserFacing, match="no lore to export"):
            await lore.export_book(GUILD, "x")
        with pytest.raises(UserFacing, match="5,001 lore entries"):
            await lore.add(GUILD, [FERRY] * 5001)
