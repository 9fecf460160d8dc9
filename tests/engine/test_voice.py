"""A persona's voice through the whole engine: samples, drift, echoes, what its mood comes from, recall."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from bot.core.vectors import Vector
from bot.engine.indexing import Feeling
from bot.engine.state import PlaceState
from bot.errors import UserFacing
from tests.engine.stage import BOB, CELLAR, TAVERN, Stage, open_stage
from tests.fakes import Prompt

JOY = np.array([9, 5, 1, 1, 1, 1, 1, 2], dtype=np.float32)
FURY = np.array([1, 1, 2, 1, 1, 5, 9, 1], dtype=np.float32)
LAMP = "The lamp hangs low over the water, and nobody on this ferry asks for names tonight."
CALM = (
    "You will find my inn where the lamp hangs low. I do not ask for names.",
    "My mother rowed this river before me. She said I talk too much.",
    "Sit down, the soup is hot. I will hear your story when you have eaten.",
)
LOUD = ("Out of my boat!!! Now!!! Go!!!", "I said no!!! No!!! Never!!!", "You again!!! Leave!!! At once!!!")


async def ask(stage: Stage, *texts: str) -> None:
    for text in texts:
        stage.say(text)
        await stage.quiet()


async def feel(stage: Stage, emotions: dict[str, Vector]) -> None:
    """What turns with these texts felt like, as the indexer tells it."""

    async def read(state: PlaceState) -> None:
        assert state.scene is not None
        found = [(emotions[turn.text], turn) for turn in state.window if turn.text in emotions]
        feelings = [Feeling(state.scene.id, turn.id, emotion) for emotion, turn in found]
        await stage.troupe.conduct.felt(state, feelings)

    await stage.troupe.places.do(TAVERN, read)


def last(stage: Stage) -> Prompt:
    return stage.model.of("reply")[-1]


def notes(stage: Stage) -> str:
    return last(stage).messages[-1].content


# ---------------------------------------------------------------- drift and echoes
async def test_a_clear_drift_puts_one_hint_into_the_next_prompt_and_is_told(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": [*CALM, *LOUD, "Well, sit down."]}) as stage:
        await stage.scene(await stage.persona())
        await ask(stage, *(f"Mira, what of number {number}?" for number in range(6)))
        assert "left its voice" not in notes(stage), "only two of the last three are loud"
        await ask(stage, "Mira, may I stay?")
        assert notes(stage).count("Lately Mira left its voice: it uses many more exclamation marks;") == 1
        assert len(stage.model.of("reply")) == 7, "a hint costs no second call"
        why = await stage.troupe.explainer.why(TAVERN, list(stage.messenger.arrived.values())[-1])
        assert why.body["drift"] == ["LOUDER", "SHORTER"]
        assert len(why.body["samples"]) == 3


async def test_while_it_drifts_nothing_becomes_a_sample(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": [*CALM, *LOUD * 8]}) as stage:
        mira = await stage.persona()
        await stage.scene(mira)
        await stage.troupe.options.set(9, 0, "member_rate", "0")
        await ask(stage, *(f"Mira, what of number {number}?" for number in range(20)))
        kept = await stage.troupe.samples.of(mira.id, TAVERN.id)
        assert [sample.text for sample in kept] == list(CALM)


async def test_mostly_the_same_again_is_asked_for_once_more_with_other_sampling(tmp_path: Path) -> None:
    said = [LAMP, f"Hm. {LAMP}", "Ask the cat, she knows more of it than I do."]
    async with open_stage(tmp_path, {"reply": said}) as stage:
        await stage.scene(await stage.persona())
        await ask(stage, "Mira, who are you?", "Mira, and the ferry?")
        assert stage.messenger.texts() == [LAMP, said[2]]
        first, again = stage.model.of("reply")[1:]
        assert "most of the last answer was said before" in again.messages[-1].content
        assert again.sampling != first.sampling
        why = await stage.troupe.explainer.why(TAVERN, list(stage.messenger.arrived.values())[-1])
        assert (why.body["complaint"], why.body["echo"]) == ("echoed", 0.0)


@pytest.mark.parametrize("second", ["", LAMP, f"Yes, yes, but first hear me. Hm, hm. {LAMP}"])
async def test_an_echo_is_still_said_when_the_second_try_is_no_better(tmp_path: Path, second: str) -> None:
    echoed = f"Hm, let me think about that for a moment, friend. {LAMP}"
    async with open_stage(tmp_path, {"reply": [LAMP, f"Hm. {LAMP}", second or "   "]}) as stage:
        await stage.scene(await stage.persona())
        await ask(stage, "Mira, who are you?", "Mira, and the ferry?")
        assert len(stage.messenger.texts()) == 2, "an answer, not a notice"
        assert stage.messenger.texts()[1] in {f"Hm. {LAMP}", second, echoed}
        assert len(stage.model.of("reply")) == 3
        assert stage.messenger.notices[1:] == []


# ---------------------------------------------------------------- samples
async def many_samples(stage: Stage) -> int:
    """Five samples of the tavern and one that was given; the persona's id."""
    mira = await stage.persona()
    await stage.scene(mira)
    await ask(stage, *(f"Mira, number {number}?" for number in range(5)))
    window = [turn for turn in await stage.window() if turn.persona_id]
    for turn in window[3:]:
        await stage.store.personas.add_sample(mira.id, turn.text, turn.id)
    await stage.store.memories.set_emotions(
        {turn.id: (FURY if number % 2 else JOY, "model:test") for number, turn in enumerate(window)}
    )
    await stage.troupe.samples.give(mira, "By the nine bells.")
    return mira.id


GLAD_OR_ANGRY = [
    "I laugh out loud at number one.",
    "I spit on the floor at number two.",
    "I laugh out loud at number three.",
    "I spit on the floor at number four.",
    "I laugh out loud at number five.",
]


async def test_of_many_samples_the_prompt_shows_those_of_the_mood(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": [*GLAD_OR_ANGRY, "Aye.", "Aye, aye."]}) as stage:
        await many_samples(stage)
        await ask(stage, "Mira, listen.")
        await feel(stage, {"Mira, listen.": JOY})
        await ask(stage, "Mira, now?")
        voice = last(stage).text.split("How it sounds:\n")[1].split("\n</voice>")[0]
        assert voice.split("\n---\n") == [GLAD_OR_ANGRY[0], GLAD_OR_ANGRY[2], GLAD_OR_ANGRY[4]]


async def test_samples_are_seen_changed_and_renewed_only_in_their_place(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": GLAD_OR_ANGRY}) as stage:
        persona_id = await many_samples(stage)
        mira = await stage.troupe.personas.by_id(persona_id)
        samples = stage.troupe.samples
        here, there = await samples.of(mira.id, TAVERN.id), await samples.of(mira.id, CELLAR.id)
        assert [one.text for one in here] == [*GLAD_OR_ANGRY, "By the nine bells."]
        assert [one.text for one in there] == ["By the nine bells."]
        with pytest.raises(UserFacing, match="gone"):
            await samples.pin(mira, CELLAR, here[0].id, pinned=True)
        with pytest.raises(UserFacing, match="gone"):
            await samples.drop(mira, CELLAR, here[0].id)
        await samples.renew(mira, CELLAR)
        await samples.pin(mira, TAVERN, here[1].id, pinned=True)
        await samples.drop(mira, TAVERN, here[0].id)
        await samples.renew(mira, TAVERN)
        left = await samples.of(mira.id, TAVERN.id)
        assert [(one.text, one.pinned) for one in left] == [
            ("I spit on the floor at number two.", True),
            ("By the nine bells.", False),
        ]


async def test_given_samples_are_bounded(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona()
        for text in ("", "   ", "x" * 601):
            with pytest.raises(UserFacing, match="1 to 600"):
                await stage.troupe.samples.give(mira, text)
        for number in range(12):
            await stage.troupe.samples.give(mira, f"Saying {number}.")
        with pytest.raises(UserFacing, match="Drop one first"):
            await stage.troupe.samples.give(mira, "One more.")


# ---------------------------------------------------------------- the mood and its cause
async def test_the_prompt_says_what_the_mood_comes_from(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        stage.say("I sold your boat.", by=BOB)
        await ask(stage, "Mira, it is late.")
        await feel(stage, {"I sold your boat.": FURY})
        await ask(stage, "Mira, what now?")
        line = next(line for line in notes(stage).split("\n") if line.startswith("Mira feels"))
        assert line.startswith("Mira feels angry") or line.startswith("Mira feels furious")
        assert line.endswith("after these words of Bob: “I sold your boat.”.")
        reply = list(stage.messenger.arrived.values())[-1]
        why = await stage.troupe.explainer.why(TAVERN, reply)
        assert why.cause is not None
        assert why.cause.text == "I sold your boat."


async def test_a_cause_that_was_deleted_is_told_no_more(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.scene(await stage.persona())
        sold = stage.say("I sold your boat.", by=BOB)
        await ask(stage, "Mira, it is late.")
        await feel(stage, {"I sold your boat.": FURY})
        stage.delete(sold)
        await stage.quiet()
        await ask(stage, "Mira, what now?")
        assert "boat" not in last(stage).text
        assert "angry" not in notes(stage)


async def test_its_own_words_and_what_is_out_of_character_are_no_cause(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": ["Out of my sight.", "Hm."]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("((I hate this part))", by=BOB)
        await ask(stage, "Mira, it is late.")
        await feel(stage, {"Out of my sight.": FURY, "((I hate this part))": FURY})
        await ask(stage, "Mira, what now?")
        line = next(line for line in notes(stage).split("\n") if line.startswith("Mira feels"))
        assert "after" not in line


class Furious:
    """A scorer to which every text is full of anger."""

    ready = True
    source = "head:furious"

    def scores(self, vectors: Vector) -> Vector:
        return np.tile(FURY, (len(vectors), 1))


async def test_what_is_just_said_is_the_cause_and_counts_once(tmp_path: Path) -> None:
    async with open_stage(tmp_path, scorer=Furious()) as stage:
        await stage.scene(await stage.persona())
        await ask(stage, "Mira, I sold your boat.")
        assert "after what Alice just said." in notes(stage)


# ---------------------------------------------------------------- its own way to recall
async def test_a_persona_recalls_in_its_own_way(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira, tom = await stage.persona(), await stage.persona("Tom")
        await stage.scene(mira, tom)
        await stage.troupe.options.set(9, 0, "emotion_weight", "0.4")
        own = {"recall_strategy": "semantic_first", "emotion_weight": 0.0}
        await stage.troupe.personas.edit(mira.id, own=own)
        await ask(stage, "Mira, what now?", "Tom, what now?")
        made = list(stage.messenger.arrived.values())[-2:]
        first, second = [(await stage.troupe.explainer.why(TAVERN, one)).body for one in made]
        assert (first["strategy"], first["weight"], first["own"]) == (
            "semantic_first",
            0.0,
            ["strategy", "weight"],
        )
        assert (second["strategy"], second["weight"], second["own"]) == ("balanced", 0.4, [])


async def test_a_rename_is_told_in_the_prompt(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        mira = await stage.persona()
        await stage.scene(mira)
        await stage.troupe.personas.edit(mira.id, name="Selma")
        await ask(stage, "Selma, what now?")
        assert "Name: Selma\nFormerly: Mira" in last(stage).text


async def test_a_sample_goes_with_its_own_reply_whatever_clock_the_members_have(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"reply": list(CALM)}) as stage:
        mira = await stage.persona()
        await stage.scene(mira)
        stage.say("Mira, where is your inn?", created_at=stage.clock() + timedelta(seconds=5))
        await stage.quiet()
        (sample,) = await stage.troupe.personas.samples(mira.id)
        (turn,) = await stage.store.turns.by_ids([sample.turn_id or 0])
        assert (turn.persona_id, turn.text) == (mira.id, CALM[0])
