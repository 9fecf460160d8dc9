"""What a persona lives by and how it recalls: edited, suggested, shown and told, on the real engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.core.character import TRAITS, own_strategy, own_weight, traits
from tests.cogs.played import Played, open_played
from tests.discord_server import DiscordServer

FOUND = {"values": "her cat", "wants": "to moor once", "fears": "fog", "never": "sells a friend"}


async def form_of(played: Played, page: str) -> object:
    asked = await played.moderator.slash(
        "persona edit", played.channel, options={"persona": "Mira", "page": page}
    )
    return await asked.modal()


async def test_what_it_lives_by_is_edited_shown_and_told_in_its_prompts(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    async with open_played(discord_server, tmp_path) as played:
        mira = await played.troupe.personas.create(played.guild.id, name="Mira", description="A ferrywoman.")
        form = await form_of(played, "character")
        assert tuple(form.fields) == TRAITS  # type: ignore[attr-defined]
        done = await (await played.moderator.submit_modal(form, FOUND)).answer()
        assert "values, wants, fears, never" in done.content
        assert traits((await played.troupe.personas.by_id(mira.id)).card) == FOUND
        form = await form_of(played, "character")
        await (await played.moderator.submit_modal(form, {"fears": ""})).answer()
        kept = traits((await played.troupe.personas.by_id(mira.id)).card)
        assert kept == {key: text for key, text in FOUND.items() if key != "fears"}
        shown = (await played.ask("persona show", persona="Mira")).content
        assert "**Wants**\nto moor once" in shown
        assert "**Recall**\nas the channel's settings say" in shown
        await played.ask("scene start", name="Dusk", persona="Mira")
        await played.member.say(played.channel, "Mira, are you there?")
        await played.said(1)
        assert "Values: her cat\nWants: to moor once\nNever: sells a friend" in (
            played.model.of("reply")[-1].text
        )


async def test_the_model_suggests_and_a_moderator_saves(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    script = {"draft": [json.dumps(FOUND), json.dumps(FOUND), "I would rather not."]}
    async with open_played(discord_server, tmp_path, script) as played:
        form = await (await played.moderator.slash("persona create", played.channel)).modal()
        made = await (
            await played.moderator.submit_modal(form, {"name": "Mira", "description": "A ferrywoman."})
        ).answer()
        offered = await played.click(made, "Suggest what it lives by")
        assert "Nothing is saved yet" in offered.content
        assert "**Fears**\nfog" in offered.content
        assert "A ferrywoman." in played.model.of("draft")[0].text
        (mira,) = await played.troupe.personas.all(played.guild.id)
        assert traits(mira.card) == {}
        form = await (await played.moderator.click(offered, "Edit and save")).modal()
        assert {word: field["value"] for word, field in form.fields.items()} == FOUND
        await (await played.moderator.submit_modal(form, {"fears": "the dark"})).answer()
        assert traits((await played.troupe.personas.by_id(mira.id)).card) == {**FOUND, "fears": "the dark"}
        again = await played.ask("persona edit", persona="Mira", suggest=True)
        assert "**Fears**\nthe dark" in again.content, "what a moderator wrote is not suggested away"
        refused = await played.ask("persona edit", persona="Mira", suggest=True)
        assert "no answer that I can read" in refused.content
        assert "page: character" in refused.content


async def test_how_it_recalls_is_its_own_and_may_be_taken_back(
    discord_server: DiscordServer, tmp_path: Path
) -> None:
    async with open_played(discord_server, tmp_path) as played:
        mira = await played.troupe.personas.create(played.guild.id, name="Mira")
        typed = {"recall_strategy": "semantic_first", "emotion_weight": "0"}
        await (await played.moderator.submit_modal(await form_of(played, "recall"), typed)).answer()
        card = (await played.troupe.personas.by_id(mira.id)).card
        assert (own_strategy(card), own_weight(card)) == ("semantic_first", 0.0)
        shown = (await played.ask("persona show", persona="Mira")).content
        assert "**Recall**\nsemantic_first" in shown
        assert "**Weight of feeling**\n0" in shown
        bad = await played.moderator.submit_modal(await form_of(played, "recall"), {"emotion_weight": "9"})
        assert "from 0 to 0.5" in (await bad.answer()).content
        back = {"recall_strategy": "as the channel's settings say", "emotion_weight": ""}
        await (await played.moderator.submit_modal(await form_of(played, "recall"), back)).answer()
        card = (await played.troupe.personas.by_id(mira.id)).card
        assert (own_strategy(card), own_weight(card)) == (None, None)


@pytest.mark.parametrize("page", ["character", "recall"])
async def test_a_form_sent_unchanged_changes_nothing(
    discord_server: DiscordServer, tmp_path: Path, page: str
) -> None:
    async with open_played(discord_server, tmp_path) as played:
        mira = await played.troupe.personas.create(played.guild.id, name="Mira")
        sent = await (await played.moderator.submit_modal(await form_of(played, page), {})).answer()
        assert "Nothing changed" in sent.content
        assert (await played.troupe.personas.by_id(mira.id)).revision == 1
