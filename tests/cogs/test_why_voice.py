"""What "Why this reply?" tells of lore, voice, mood and a persona's own recall, on the real engine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np

from bot.engine.indexing import Feeling
from bot.engine.state import PlaceState
from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer
from tests.discord_server.users import ScriptedUser

FURY = np.array([1, 1, 2, 1, 1, 5, 9, 1], dtype=np.float32)
LAMP = "The lamp hangs low over the water, and nobody on this ferry asks for names tonight."


async def talk(played: Played, number: int, text: str) -> None:
    await played.member.say(played.channel, text)
    await played.said(number)


async def why(played: Played, by: ScriptedUser | None = None) -> str:
    """The page about the newest reply."""
    newest = [one for one in played.server.messages(played.channel) if one.webhook_id][-1]
    async with asyncio.timeout(30):  # the reply is posted before its explanation is kept
        while True:
            turn = await played.store.turns.by_message(newest.id)
            if turn is not None and await played.store.explanations.of_turn(turn.id) is not None:
                break
            await asyncio.sleep(0.01)
    asked = await (by or played.moderator).context_menu("Why this reply?", newest)
    return (await asked.answer()).content


async def test_lore_is_named_with_its_key_for_moderators_and_counted_for_members(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    async with open_played(discord_server, tmp_path) as played:
        await played.troupe.personas.create(played.guild.id, name="Mira")
        await played.ask("scene start", name="Dusk", persona="Mira")
        await played.ask("lore add", keys="heron, ferry", text="It never moors.", name="The ferry")
        await played.ask("lore add", keys="dragon", text="There are none.", name="Dragons")
        await talk(played, 1, "Mira, when does the ferry leave?")
        told = await why(played)
        assert "**Lore told** (1)\n- The ferry: “ferry” was said" in told
        assert "Dragons" not in told
        member = await why(played, played.member)
        assert "**Lore told** (1)\n- 1 entry" in member
        assert "The ferry: " not in member
        await played.ask("lore remove", entry="1")
        assert "- 1 entry" in await why(played), "what is gone is counted"


async def test_the_page_tells_an_echo_a_drift_and_the_cause_of_the_mood(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    loud = [
        "Out of my boat!!! Now!!! Go!!!",
        "I said no!!! No!!! Never!!!",
        "You again!!! Leave!!! At once!!!",
    ]
    calm = ["I do not ask for names here, only for dry boots.", "My mother rowed this river before me."]
    replies = [LAMP, *calm, *loud, f"Hm. {LAMP}", f"So. {LAMP}", "Well, sit down by the stove."]
    async with open_played(discord_server, tmp_path, {"reply": replies}) as played:
        await played.troupe.personas.create(played.guild.id, name="Mira")
        await played.ask("scene start", name="Dusk", persona="Mira")
        for number in range(1, 7):
            await talk(played, number, f"Mira, what of number {number}?")
        assert "Voice" not in await why(played)

        async def feel(state: PlaceState) -> None:
            assert state.scene is not None
            turn = next(turn for turn in state.window if turn.text == "Mira, what of number 6?")
            await played.troupe.conduct.felt(state, [Feeling(state.scene.id, turn.id, FURY)])

        place = played.troupe.live.place(played.channel.id)
        assert place is not None
        await played.troupe.places.do(place, feel)
        await talk(played, 7, "Mira, who are you?")
        told = await why(played)
        assert "**Voice**: its last replies had left its samples (it uses many more exclamation marks" in told
        assert "The first answer was echoed, so it was asked for once more." in told
        assert "after Alice: Mira, what of number 6?" in told
        share = next(line for line in told.split("\n") if line.startswith("**Repeats**"))
        assert share.endswith("% of it stands in its last replies too.")


async def test_its_own_way_to_recall_is_told_as_its_own(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    async with open_played(discord_server, tmp_path) as played:
        mira = await played.troupe.personas.create(played.guild.id, name="Mira")
        await played.ask("scene start", name="Dusk", persona="Mira")
        await talk(played, 1, "Mira, are you there?")
        assert "Recall: balanced, weight of feeling 0.2." in await why(played)
        await played.troupe.personas.edit(mira.id, own={"emotion_weight": 0.0})
        await talk(played, 2, "Mira, and now?")
        assert "Recall: balanced, weight of feeling 0 (its own)." in await why(played)
