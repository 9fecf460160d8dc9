"""Who may do what: one table, true in the README and for every command that exists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discord import AppCommandType

from cogs.permissions import MENU_RIGHTS, MORE_RIGHTS, NOTED, RIGHTS, Right, table
from tests.cogs.conftest import Stage
from tests.discord_server.options import find_leaf

README = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- rights -->\n", "<!-- end of rights -->"


def needed(stage: Stage, name: str) -> dict[str, Any]:
    """Something for each option that must be given."""
    leaf = find_leaf(stage.server, stage.guild, name)[2]
    return {one["name"]: _any_value(stage, one) for one in leaf if one.get("required")}


def _any_value(stage: Stage, option: dict[str, Any]) -> Any:
    if option.get("choices"):
        return option["choices"][0]["value"]
    return {3: "Some words", 4: 1, 5: True, 6: stage.member, 7: stage.channel, 10: 1.0, 11: ("a.txt", b"a")}[
        option["type"]
    ]


def test_the_readme_prints_the_table_of_the_code() -> None:
    text = README.read_text(encoding="utf-8")
    printed = text.split(BEGIN)[1].split(END)[0]
    assert printed.strip() == table().strip()


def test_what_is_noted_exists() -> None:
    assert set(RIGHTS) | set(MENU_RIGHTS) | set(MORE_RIGHTS) >= NOTED


async def test_every_entry_of_the_message_menu_has_a_right(stage: Stage) -> None:
    names = {command.name for command in stage.client.tree.walk_commands(type=AppCommandType.message)}
    assert names == set(MENU_RIGHTS)
    assert len(names) <= 5  # what discord.py lets an app have


async def test_a_command_of_moderators_refuses_a_member_in_code(stage: Stage) -> None:
    """Whatever an admin set in Discord: the code checks before anything else."""
    for name in (name for name, right in RIGHTS.items() if right > Right.EVERYONE):
        options = needed(stage, name)
        asked = await stage.member.slash(name, stage.channel, ignore_defaults=True, options=options)
        answer = await asked.answer()
        assert answer.ephemeral
        assert "Please ask one." in answer.content, name


async def test_completions_show_a_member_nothing_of_a_command_that_is_not_theirs(stage: Stage) -> None:
    stage.troupe.personas.add(stage.guild.id, "Mira")
    for name, option in (("persona edit", "persona"), ("scene start", "persona")):
        offered = await stage.moderator.autocomplete(name, stage.channel, option=option)
        assert [choice["name"] for choice in offered] == ["Mira"]
        assert await stage.member.autocomplete(name, stage.channel, option=option) == []
