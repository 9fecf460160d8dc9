"""Slash commands, forms, autocomplete, menus, buttons and the clock rules of interactions."""

from __future__ import annotations

import asyncio
from typing import Any

import discord
import pytest
from discord import app_commands

from .conftest import Tavern
from .errors import ScriptError
from .fixtures import LoggedErrors
from .sample_bot import SampleBot


async def test_commands_are_synced_once_and_counted(tavern: Tavern, bot: SampleBot) -> None:
    server = tavern.server
    assert len(server.command_syncs) == 1
    first = server.visible_command(None, 1, "scene")
    await bot.tree.sync()
    assert len(server.command_syncs) == 2
    assert server.visible_command(None, 1, "scene") == first
    assert sum(server.command_creates.values()) == len(server.command_syncs[0])


async def test_a_deferred_command_is_answered_by_its_first_followup(tavern: Tavern, bot: SampleBot) -> None:
    interaction = await tavern.alice.slash(
        "scene start", tavern.inn, name="Feast", persona="Ada", place=tavern.inn
    )
    answer = await interaction.answer()
    assert answer.ephemeral
    assert answer.content == "started Feast with Ada in inn"
    assert (await interaction.followup()).content == "second"
    assert interaction.original is answer
    assert tavern.server.messages(tavern.inn) == []


async def test_nested_groups_attachments_and_public_answers(tavern: Tavern, bot: SampleBot) -> None:
    added = await tavern.alice.slash("scene cast add", tavern.inn, persona="Bob", card=("x.txt", b"abc"))
    answer = await added.answer()
    assert (answer.content, answer.ephemeral) == ("added Bob 3", False)
    assert tavern.server.messages(tavern.inn) == [answer]


async def test_autocomplete_offers_choices(tavern: Tavern, bot: SampleBot) -> None:
    choices = await tavern.alice.autocomplete("scene start", option="persona", value="Ad")
    assert [choice["value"] for choice in choices] == ["Ada", "Adam"]
    with pytest.raises(ScriptError, match="does not autocomplete"):
        await tavern.alice.autocomplete("scene start", option="name", value="x")


async def test_a_form_is_filled_in_with_text_choice_and_file(tavern: Tavern, bot: SampleBot) -> None:
    modal = await (await tavern.alice.slash("form", tavern.inn)).modal()
    assert modal.title == "Who are you?"
    assert {name: field["label"] for name, field in modal.fields.items()} == {
        "name": "Name",
        "story": "Story",
        "mood": "Mood",
        "card": "Card",
    }
    done = await tavern.alice.submit_modal(
        modal, {"name": "Luna", "mood": "Sad"}, files={"card": ("c.json", b"{}")}
    )
    assert (await done.answer()).content == "Luna | Once | 2 | c.json:{}"
    with pytest.raises(ScriptError, match="no fields"):
        await tavern.alice.submit_modal(modal, {"nme": "Luna"})
    with pytest.raises(ScriptError, match="takes 0 to 80"):
        await tavern.alice.submit_modal(modal, {"name": ""})


async def test_buttons_and_selects_of_a_slash_answer_work(tavern: Tavern, bot: SampleBot) -> None:
    posted = await (await tavern.alice.slash("buttons", tavern.inn)).answer()
    private = await (await tavern.alice.click(posted, "Answer")).answer()
    assert (private.content, private.ephemeral) == ("for Alice", True)
    assert (await (await tavern.alice.select(posted, "pick", "Red")).answer()).content == "picked r"
    assert (await (await tavern.mod.click(posted, "rewrite")).answer()) is posted
    assert posted.content == "rewritten"
    form = await (await tavern.alice.click(posted, "Form")).modal()
    assert (await (await tavern.alice.submit_modal(form, {"name": "Max"})).answer()).content == "Max | Once"
    with pytest.raises(ScriptError, match="has no 'Nothing'"):
        await tavern.alice.click(posted, "Nothing")
    with pytest.raises(ScriptError, match="does not see"):
        await tavern.mod.click(private, "Answer")


async def test_a_context_menu_gets_its_message(tavern: Tavern, bot: SampleBot) -> None:
    said = await tavern.alice.say(tavern.inn, "why not")
    answer = await (await tavern.alice.context_menu("Why?", said)).answer()
    assert answer.content == "because of 'why not'"


@pytest.mark.parametrize(
    ("command", "options", "complaint"),
    [
        ("unknown", {}, "was not synced"),
        ("scene", {}, "needs a subcommand"),
        ("scene stop", {}, "is no subcommand"),
        ("scene start", {}, "needs the options"),
        ("scene start", {"name": "x", "colour": "red"}, "has no options"),
        ("scene start", {"name": "x" * 21}, "1 to 20 characters"),
        ("scene start", {"name": 5}, "1 to 20 characters"),
        ("scene start", {"name": "x", "place": "inn"}, "takes"),
    ],
)
async def test_what_a_client_would_not_send_fails_loudly(
    tavern: Tavern, bot: SampleBot, command: str, options: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ScriptError, match=complaint):
        await tavern.alice.slash(command, tavern.inn, options=options)


async def test_commands_for_moderators_are_hidden_from_others(tavern: Tavern, bot: SampleBot) -> None:
    with pytest.raises(ScriptError, match="hidden"):
        await tavern.alice.slash("admin", tavern.inn)
    assert (await (await tavern.mod.slash("admin", tavern.inn)).answer()).content == "done"
    forced = await tavern.alice.slash("admin", tavern.inn, ignore_defaults=True)
    assert (await forced.answer()).content == "done"


@pytest.mark.parametrize("discord_server", [{"clock_factor": 30}], indirect=True)
async def test_after_three_seconds_an_interaction_is_unknown(tavern: Tavern, bot: SampleBot) -> None:
    bot.delay = 0.2
    interaction = await tavern.mod.slash("admin", tavern.inn)
    with pytest.raises(ScriptError, match="did not respond"):
        await interaction.answer()
    error = await bot.until(lambda: bot.failures[0] if bot.failures else None)
    assert isinstance(error, app_commands.CommandInvokeError)
    assert isinstance(error.original, discord.NotFound)
    assert error.original.code == 10062


async def test_the_token_dies_after_fifteen_minutes(tavern: Tavern, bot: SampleBot) -> None:
    kept: list[discord.Interaction] = []

    async def keep(interaction: discord.Interaction) -> None:
        await interaction.response.defer()
        kept.append(interaction)
        bot.news.notify()

    _replace(bot, "admin", keep)
    interaction = await tavern.mod.slash("admin", tavern.inn)
    assert await interaction.acked() == 5
    await bot.until(lambda: kept)
    tavern.server.advance(15 * 60 + 1)
    with pytest.raises(discord.HTTPException) as dead:
        await kept[0].followup.send("too late")
    assert (dead.value.status, dead.value.code) == (401, 50027)


FIELD = [
    {"type": 18, "label": "l", "component": {"type": 4, "custom_id": "c", "style": 1}},
]


async def test_a_second_response_and_a_form_after_a_deferral_are_refused(
    tavern: Tavern, bot: SampleBot
) -> None:
    codes: list[int] = []

    async def twice(interaction: discord.Interaction) -> None:
        await interaction.response.defer()
        for kind, content in (
            (4, {"content": "x"}),
            (9, {"custom_id": "a", "title": "t", "components": FIELD}),
        ):
            try:
                await _respond(bot, interaction, kind, content)
            except discord.HTTPException as error:
                codes.append(error.code)
        await interaction.edit_original_response(content="done")

    _replace(bot, "admin", twice)
    assert (await (await tavern.mod.slash("admin", tavern.inn)).answer()).content == "done"
    assert codes == [40060, 40060]


async def test_a_form_cannot_answer_a_form(tavern: Tavern, bot: SampleBot) -> None:
    codes: list[int] = []

    class Again(discord.ui.Modal, title="Again"):
        field = discord.ui.Label(text="Field", component=discord.ui.TextInput(custom_id="field"))

        async def on_submit(self, interaction: discord.Interaction) -> None:
            try:
                await interaction.response.send_modal(Again())
            except discord.HTTPException as error:
                codes.append(error.code)
            await interaction.response.send_message("plain")

    async def opened(interaction: discord.Interaction) -> None:
        await interaction.response.send_modal(Again())

    _replace(bot, "admin", opened)
    first = await tavern.mod.slash("admin", tavern.inn)
    second = await tavern.mod.submit_modal(first, {"field": "x"})
    assert (await second.answer()).content == "plain"
    assert codes == [50035]
    assert tavern.server.take_violations()


async def test_ephemeral_is_decided_by_the_deferral(tavern: Tavern, bot: SampleBot) -> None:
    async def public(interaction: discord.Interaction) -> None:
        await interaction.response.defer(thinking=True)
        await interaction.followup.send("seen by all", ephemeral=True)
        await interaction.delete_original_response()

    _replace(bot, "admin", public)
    interaction = await tavern.mod.slash("admin", tavern.inn)
    answer = await interaction.acked()
    assert answer == 5
    await tavern.server.until(lambda: interaction.original is not None and interaction.original.deleted)
    assert interaction.original is not None
    assert not interaction.original.ephemeral
    assert interaction.original.content == "seen by all"
    assert tavern.server.messages(tavern.inn) == []


@pytest.mark.logs_exceptions
async def test_too_many_choices_are_refused(
    tavern: Tavern, bot: SampleBot, logged_errors: LoggedErrors
) -> None:
    bot.personas = [str(number) for number in range(26)]
    asking = asyncio.create_task(tavern.alice.autocomplete("scene start", option="persona"))
    await tavern.server.until(lambda: any(item.kind == "rule" for item in tavern.server.violations))
    tavern.server.advance(4)
    with pytest.raises(ScriptError, match="did not respond"):
        await asking
    assert "rule" in {item.kind for item in tavern.server.take_violations()}
    assert "choices" in logged_errors.described()


def _replace(bot: SampleBot, name: str, callback: object) -> None:
    command = bot.tree.get_command(name)
    assert isinstance(command, app_commands.Command)
    command._callback = callback  # type: ignore[assignment]
    command.binding = None


async def _respond(bot: SampleBot, interaction: discord.Interaction, kind: int, content: Any) -> None:
    route = discord.http.Route("POST", f"/interactions/{interaction.id}/{interaction.token}/callback")
    await bot.http.request(route, json={"type": kind, "data": content})


async def test_commands_work_in_direct_messages(tavern: Tavern, bot: SampleBot) -> None:
    channel = tavern.server.dm(tavern.alice)
    answer = await (await tavern.alice.slash("scene cast add", channel, persona="Bob")).answer()
    assert answer.content == "added Bob 0"
    assert answer in tavern.server.messages(channel)


async def test_user_menus_and_component_layouts(tavern: Tavern, bot: SampleBot) -> None:
    class Layout(discord.ui.LayoutView):
        box: discord.ui.Container[Layout] = discord.ui.Container(
            discord.ui.TextDisplay("In a box"),
            discord.ui.Separator(),
            discord.ui.Section("Beside", accessory=discord.ui.Button(label="Press", custom_id="press")),
        )

    async def who(interaction: discord.Interaction, user: discord.User) -> None:
        await interaction.response.send_message(view=Layout())

    bot.tree.add_command(app_commands.ContextMenu(name="Who?", callback=who))
    await bot.tree.sync()
    interaction = await tavern.alice.user_menu("Who?", tavern.mod, tavern.inn)
    answer = await interaction.answer()
    assert answer.text == "In a box\nBeside"


async def test_ephemeral_answers_come_back_like_direct_messages(tavern: Tavern, bot: SampleBot) -> None:
    said = await tavern.alice.say(tavern.inn, "x")
    answer = await (await tavern.alice.context_menu("Why?", said)).answer()
    message = await bot.until(lambda: next((item for item in bot.heard if item.id == answer.id), None))
    assert message.guild is None
    assert message.author.id == tavern.server.bot_user_id
