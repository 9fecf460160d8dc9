"""The notes that prompts show stay the same while the window begins at the same turn."""

from __future__ import annotations

from pathlib import Path

from tests.engine.stage import Stage, open_stage
from tests.engine.test_memory import notes, talk, until_covered

KEY = "Alice lost the silver key."


def system(stage: Stage) -> str:
    """The system message of the newest prompt for a reply."""
    return stage.model.of("reply")[-1].messages[0].content


async def ask(stage: Stage) -> str:
    stage.say("Mira, what now?")
    await stage.quiet()
    return system(stage)


async def test_new_notes_do_not_change_the_prompt_while_it_shows_what_they_tell(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"memory": [notes()]}) as stage:
        await stage.scene(await stage.persona())
        stage.say("I lost the silver key.")
        await ask(stage)
        before = await ask(stage)
        await talk(stage, 8)
        await until_covered(stage)
        assert await ask(stage) == before
        assert "I lost the silver key." in stage.model.of("reply")[-1].text


async def test_they_are_shown_when_the_window_drops_turns(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"memory": [notes()]}, context_tokens=1100) as stage:
        await stage.scene(await stage.persona())
        stage.say("I lost the silver key.")
        await ask(stage)
        await talk(stage, 8)
        await until_covered(stage)
        await talk(stage, 60)
        assert KEY in await ask(stage)


async def test_an_erased_turn_leaves_the_held_notes_at_once(tmp_path: Path) -> None:
    async with open_stage(tmp_path, {"memory": [notes()]}) as stage:
        await stage.scene(await stage.persona())
        lost = stage.say("I lost the silver key.")
        await talk(stage, 9)
        await until_covered(stage)
        assert KEY in await ask(stage)
        stage.delete(lost)
        assert KEY not in await ask(stage)
