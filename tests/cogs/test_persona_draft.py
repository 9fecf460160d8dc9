"""/persona create with an idea, on the real engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.core.spending import ceilings
from bot.engine.paid_calls import Spending
from bot.errors import ModelUnavailable
from tests.cogs.played import open_played
from tests.discord_server import DiscordServer
from tests.fakes import ChatAnswer

DRAFT = {
    "name": "Mira",
    "description": "A ferrywoman who never moors.",
    "personality": "Dry.",
    "greeting": "Hop in.",
    "examples": "<START>\n{{user}}: Hi\n{{char}}: Pah.",
}


async def test_a_draft_is_saved_only_by_sending_its_form(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    async with open_played(discord_server, tmp_path, {"draft": [json.dumps(DRAFT)] * 2}) as played:
        offered = await played.ask("persona create", idea="a stubborn ferrywoman")
        assert "Nothing is saved yet" in offered.content
        assert "never moors" in offered.content
        assert await played.troupe.personas.all(played.guild.id) == []
        form = await (await played.moderator.click(offered, "Edit and save")).modal()
        assert {word: field["value"] for word, field in form.fields.items()} == DRAFT
        done = await (await played.moderator.submit_modal(form, {"name": "Mira Vale"})).answer()
        assert "**Mira Vale** is ready" in done.content
        (mira,) = await played.troupe.personas.all(played.guild.id)
        assert (mira.text("first_mes"), mira.text("mes_example")) == (DRAFT["greeting"], DRAFT["examples"])
        prompt = played.model.prompts[-1]
        assert (prompt.purpose, "a stubborn ferrywoman" in prompt.text) == ("draft", True)
        again = await played.ask("persona create", idea="another one")
        assert "nothing was saved" in (await played.click(again, "Throw away")).content
        assert len(await played.troupe.personas.all(played.guild.id)) == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("I would rather not.", "no draft that I can read"),
        (ModelUnavailable("busy"), "cannot answer right now"),
    ],
)
async def test_without_a_usable_draft_the_empty_form_is_named(
    discord_server: DiscordServer, tmp_path: Path, answer: ChatAnswer, words: str
) -> None:
    async with open_played(discord_server, tmp_path, {"draft": [answer]}) as played:
        told = await played.ask("persona create", idea="a stubborn ferrywoman")
        assert words in told.content
        assert "empty form" in told.content


async def test_a_draft_counts_towards_the_days_tokens(discord_server: DiscordServer, tmp_path: Path) -> None:
    async with open_played(discord_server, tmp_path, spending=Spending(ceilings(daily_tokens=100))) as played:
        told = await played.ask("persona create", idea="a stubborn ferrywoman")
        assert "used up" in told.content
        assert played.model.prompts == []
