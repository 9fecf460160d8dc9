"""Whatever fails unexpectedly at Discord's door: one record in the log, whose reference the member sees."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import re
from datetime import UTC, datetime
from typing import Any

import discord
import pytest
from discord import app_commands
from discord.ext import commands

import cogs
from bot.engine.notices import Notices
from cogs.answers import report
from tests.cogs.conftest import Stage
from tests.connected import eventually
from tests.discord_server.fixtures import LoggedErrors

pytestmark = pytest.mark.logs_exceptions
TYPED = {"name": "Mira", "description": "An innkeeper.", "greeting": "", "personality": "", "examples": ""}


async def broken(*_: object, **__: object) -> Any:
    raise ValueError("a secret detail")


def check(told: str, logged_errors: LoggedErrors) -> None:
    """The member sees the reference of the only record, and nothing of what happened."""
    (record,) = logged_errors.take()
    (reference,) = re.findall(r"reference `?(\w{6})", told)
    assert reference in record.getMessage()
    assert record.exc_info is not None
    assert "secret" not in told
    assert "Traceback" not in told


async def test_a_command(stage: Stage, logged_errors: LoggedErrors) -> None:
    stage.troupe.personas.all = broken  # type: ignore[method-assign]
    asked = await stage.moderator.slash("persona list", stage.channel)
    check((await asked.answer()).content, logged_errors)


async def test_a_form(stage: Stage, logged_errors: LoggedErrors) -> None:
    stage.troupe.personas.create = broken  # type: ignore[method-assign]
    form = await (await stage.moderator.slash("persona create", stage.channel)).modal()
    sent = await stage.moderator.submit_modal(form, TYPED)
    check((await sent.answer()).content, logged_errors)


async def test_a_button(stage: Stage, logged_errors: LoggedErrors) -> None:
    stage.troupe.personas.add(stage.guild.id, "Mira")
    stage.troupe.personas.delete = broken  # type: ignore[method-assign]
    asked = await (await stage.moderator.slash("persona delete", stage.channel, persona="Mira")).answer()
    clicked = await stage.moderator.click(asked, "Delete")
    async with asyncio.timeout(30):
        while not [one for one in clicked.messages if "reference" in one.text]:
            await asyncio.sleep(0.01)
    check(clicked.messages[-1].text, logged_errors)


async def test_an_entry_of_the_message_menu(stage: Stage, logged_errors: LoggedErrors) -> None:
    said = await stage.member.say(stage.channel, "Hello.")
    asked = await stage.member.context_menu("Why this reply?", said)  # the fake engine explains nothing
    check((await asked.answer()).content, logged_errors)


async def test_a_completion_offers_nothing(stage: Stage, logged_errors: LoggedErrors) -> None:
    stage.troupe.personas.all = broken  # type: ignore[method-assign]
    stage.troupe.personas.find = broken  # type: ignore[method-assign]
    offered = asyncio.create_task(
        stage.moderator.autocomplete("persona show", stage.channel, option="persona", value="M")
    )
    await eventually(lambda: logged_errors.records)
    offered.cancel()
    await asyncio.gather(offered, return_exceptions=True)
    assert len(logged_errors.take()) == 1


@pytest.mark.parametrize("spoken_to", [True, False])
async def test_a_listener_tells_whoever_spoke_to_the_bot(
    stage: Stage, logged_errors: LoggedErrors, spoken_to: bool
) -> None:
    notices = Notices(messenger=stage.client.messenger, now=lambda: datetime.now(UTC))
    stage.troupe.notices = notices  # type: ignore[attr-defined]
    stage.troupe.hear_failure = ValueError("a secret detail")
    mention = f"<@{stage.server.bot_user_id}> " if spoken_to else ""
    said = await stage.member.say(stage.channel, f"{mention}hello!")
    await eventually(lambda: logged_errors.records)
    await eventually(lambda: not notices.busy)
    own = [one.content for one in stage.server.messages(stage.channel) if one.id > said.id]
    if spoken_to:
        check(own[0], logged_errors)
        await stage.member.say(stage.channel, f"{mention}hello?")
        await eventually(lambda: logged_errors.records)
        await eventually(lambda: not notices.busy)
    assert (
        len([one for one in stage.server.messages(stage.channel) if "reference" in one.content]) == spoken_to
    )
    await notices.close(0.0)
    logged_errors.take()


def every(base: type) -> list[type]:
    """All of our classes under a class of discord.py."""
    for module in pkgutil.iter_modules(cogs.__path__, "cogs."):
        importlib.import_module(module.name)
    found, left = [], list(base.__subclasses__())
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        found += [kind] if kind.__module__.startswith("cogs.") else []
    return found


async def test_every_command_leaves_its_failures_to_the_one_place_that_tells_of_them(stage: Stage) -> None:
    known = list(stage.client.tree.walk_commands()) + [
        entry
        for kind in (discord.AppCommandType.message, discord.AppCommandType.user)
        for entry in stage.client.tree.walk_commands(type=kind)
    ]
    assert len(known) > 60
    plain = (None, app_commands.Group.on_error)
    assert not [one for one in known if getattr(one.on_error, "__func__", one.on_error) not in plain]
    for cog in stage.client.cogs.values():
        assert type(cog).cog_app_command_error is commands.Cog.cog_app_command_error, cog


@pytest.mark.parametrize("base", [discord.ui.View, discord.ui.Modal], ids=lambda base: base.__name__)
def test_all_forms_and_buttons_report_their_failures(base: type) -> None:
    kinds = every(base)
    assert len(kinds) >= 3
    silent = [kind for kind in kinds if kind.on_error is base.on_error]  # type: ignore[attr-defined]
    assert not silent


def test_buttons_that_outlive_a_restart_report_their_failures() -> None:
    """discord.py only logs what these raise, so they catch it themselves."""
    for kind in every(discord.ui.DynamicItem):
        names = kind.callback.__code__.co_names  # type: ignore[attr-defined]
        assert report.__name__ in names, kind
