"""Who said what, who is who, and what is kept apart: with the real embedding model and search index."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from bot.core.spontaneous import COOLDOWN_TURNS
from bot.core.types import MemoryKind
from tests.engine.real_stage import chatter, notes, real_stage, recalled
from tests.engine.stage import ALICE, BOB, CARO, TAVERN, Stage
from tests.fakes import Prompt

pytestmark = [pytest.mark.timeout(240), pytest.mark.usefixtures("hurried_indexer")]
MAY = "may bring it up if it fits, and need not:\n"


def quiet_notes(prompt: Prompt) -> str:
    return notes()


def numbered(prompt: Prompt) -> dict[str, int]:
    """The turns of a background prompt: the line's text to its number."""
    lines = [line for line in prompt.messages[-1].content.split("\n") if line.startswith("[")]
    return {line.split("] ", 1)[1]: int(line[1:].split("]")[0]) for line in lines}


async def test_what_two_members_said_of_one_thing_is_recalled_under_their_names(tmp_path: Path) -> None:
    async with real_stage(tmp_path, script={"memory": quiet_notes}) as stage:
        await stage.scene(await stage.persona())
        stage.say("I would never set foot in the haunted crypt, it frightens me.", by=ALICE)
        stage.say("The haunted crypt is my favourite place, I nap there.", by=CARO)
        await chatter(stage, 7)
        shown = await recalled(stage, "Mira, who of us is frightened by the haunted crypt?")
        lines = [line for line in shown.split("\n") if "haunted crypt" in line]
        assert len(lines) == 2
        assert "Alice: I would never set foot" in lines[0]
        assert "Caro: The haunted crypt is my favourite" in lines[1]


async def test_a_claim_of_a_persona_about_a_member_is_told_as_the_personas(tmp_path: Path) -> None:
    def remember(prompt: Prompt) -> str:
        said = [number for line, number in numbered(prompt).items() if line.startswith("Mira: You broke")]
        fact = {"about": "Alice", "kind": "person", "text": "Alice broke the blue window.", "turns": said}
        return notes(facts=[fact] if said else [])

    script = {"memory": remember, "reply": ["You broke the blue window, Alice!", "Hm."]}
    async with real_stage(tmp_path, script=script) as stage:
        await stage.scene(await stage.persona())
        stage.say("Mira, good evening.")
        await stage.quiet()
        await chatter(stage, 7)
        shown = await recalled(stage, "Mira, who broke the blue window?")
        assert "as said by Mira: Alice broke the blue window." in shown
        assert "Mira: You broke the blue window, Alice!" in shown
        (page,) = (await stage.troupe.pages.who(TAVERN, "Alice")).entries
        assert (page.memory.kind, page.memory.speaker) == (MemoryKind.FACT, "Mira")


async def test_a_renamed_member_is_known_under_the_new_name(tmp_path: Path) -> None:
    async with real_stage(tmp_path, script={"memory": quiet_notes}) as stage:
        await stage.scene(await stage.persona())
        stage.say("My parrot is called Bartholomew and he bites.", by=ALICE)
        await chatter(stage, 7)
        shown = await recalled(stage, "Mira, what is my parrot called?", by=ALICE, author_name="Lady Alicia")
        (line,) = [line for line in shown.split("\n") if "Bartholomew" in line]
        assert "Alice: My parrot is called Bartholomew" in line, "as it was said then"
        assert _tells_that_they_are_one(stage, shown)


def _tells_that_they_are_one(stage: Stage, shown: str) -> bool:
    prompt = stage.model.of("reply")[-1].text
    return any("Alice" in line and "Lady Alicia" in line for line in prompt.split("\n"))


async def test_two_members_of_one_name_are_told_apart_in_what_is_recalled(tmp_path: Path) -> None:
    async with real_stage(tmp_path, script={"memory": quiet_notes}) as stage:
        await stage.scene(await stage.persona())
        stage.say("Walnuts make my throat swell, keep them away from me.", by=ALICE)
        stage.say("Walnuts are the best thing in the world, I eat them daily.", by=CARO, author_name="Alice")
        await chatter(stage, 7)
        shown = await recalled(stage, "Mira, may I have walnuts?", by=CARO, author_name="Alice")
        swell = next(line for line in shown.split("\n") if "throat swell" in line)
        daily = next(line for line in shown.split("\n") if "eat them daily" in line)
        assert "Alice: Walnuts make" in swell
        assert "Alice (2): Walnuts are" in daily
        assert "Alice (2): Mira, may I have walnuts?" in stage.model.of("reply")[-1].messages[-1].content


async def test_what_is_out_of_character_is_for_members_to_find_and_no_memory_of_the_persona(
    tmp_path: Path,
) -> None:
    read: list[str] = []

    def remember(prompt: Prompt) -> str:
        read.append(prompt.text)
        return notes()

    async with real_stage(tmp_path, script={"memory": remember}) as stage:
        await stage.scene(await stage.persona())
        stage.say("((my real name is Gerald and I work in a bank))", by=ALICE)
        stage.say("// Gerald here, I must go offline at ten", by=ALICE)
        stage.say("My name in this land is Aldric, and I am a baker.", by=ALICE)
        await chatter(stage, 7)
        shown = await recalled(stage, "Mira, what is my real name and where do I work?")
        assert "Aldric" in shown
        assert "Gerald" not in stage.model.of("reply")[-1].text
        assert not [text for text in read if "Gerald" in text]
        found = await stage.troupe.memories.search(TAVERN, "Gerald works in a bank")
        assert "Gerald" in found[0].memory.text


async def test_over_two_hundred_turns_no_memory_comes_up_more_often_than_its_cooldown_allows(
    tmp_path: Path,
) -> None:
    cups = itertools.count()
    script = {"memory": quiet_notes, "reply": lambda _: f"*nods, for the {next(cups)}th time*"}
    async with real_stage(tmp_path, script=script) as stage:
        await stage.scene(await stage.persona())
        await stage.troupe.options.set(TAVERN.guild_id, 0, "member_rate", "0")
        await stage.troupe.options.set(TAVERN.guild_id, 0, "spontaneous_turns", "8")
        stage.say("I am so terribly afraid, something is scratching at the cellar door!", by=ALICE)
        stage.say("My little brother died this morning, and I cannot stop weeping.", by=ALICE)
        stage.say("You lied to me, you traitor! I hate you for it!", by=CARO)
        await chatter(stage, 6)
        at: dict[int, str] = {}
        for number in range(34):
            for cup in range(3):
                stage.say(f"Cup {3 * number + cup} is poured.", by=BOB)
            stage.say(f"Mira, I am sad and frightened tonight, for the {number}th time.", by=ALICE)
            await stage.quiet()
            content = stage.model.of("reply")[-1].messages[-1].content
            if MAY in content:
                at[5 * number] = content.split(MAY)[1].split("\n")[0]
        assert at, "it does happen"
        assert all(later - earlier >= 8 for earlier, later in itertools.pairwise(sorted(at)))
        for text in set(at.values()):
            times = [turn for turn in sorted(at) if at[turn] == text]
            assert all(later - earlier >= COOLDOWN_TURNS for earlier, later in itertools.pairwise(times))
