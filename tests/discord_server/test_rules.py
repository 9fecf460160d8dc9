"""Limits, permissions and the OpenAPI check, without a client."""

from __future__ import annotations

from typing import Any

import pytest

from .clock import Clock, Snowflakes, moment_of
from .errors import ApiError
from .mentions import pings
from .models import Channel, Guild, Member, Overwrite, Role, User
from .permissions import ALL, Permission, channel_permissions
from .rules import check_message, check_modal, check_webhook_name
from .rules_commands import check_commands
from .schema import SPEC_PATH, OpenApi, specification

needs_document = pytest.mark.skipif(
    not SPEC_PATH.is_file(), reason="../shared/discord-openapi.json is absent"
)
MESSAGES = "/channels/{channel_id}/messages"
WEBHOOK = "/webhooks/{webhook_id}/{webhook_token}"


@pytest.fixture
def document() -> OpenApi:
    """The checks of Discord's OpenAPI document."""
    loaded = specification()
    assert loaded is not None
    return loaded


@needs_document
def test_a_plain_message_passes_the_document(document: OpenApi) -> None:
    assert document.request_problems("POST", MESSAGES, {}, {"content": "hi", "tts": False}) == []


@needs_document
@pytest.mark.parametrize(
    ("template", "query", "body", "problem"),
    [
        (MESSAGES, {}, {"content": 5}, "content"),
        (MESSAGES, {}, {"content": "x", "colour": 1}, "unknown key 'colour'"),
        (MESSAGES, {"wait": "1"}, {"content": "x"}, "unknown query"),
        (MESSAGES, {}, {"embeds": [{"description": "x" * 4097}]}, "embeds.0.description"),
        (WEBHOOK, {}, {"content": "x", "username": "x" * 81}, "username"),
        (WEBHOOK, {}, {"content": "x" * 2001}, "content"),
        ("/nowhere", {}, {}, "not in the OpenAPI document"),
    ],
)
def test_the_document_finds_what_is_wrong(
    document: OpenApi, template: str, query: dict[str, str], body: dict[str, Any], problem: str
) -> None:
    (found,) = document.request_problems("POST", template, query, body)
    assert problem in found


@needs_document
def test_two_habits_of_the_client_are_let_through(document: OpenApi) -> None:
    body = {"content": "x", "attachments": [{"id": 0, "filename": "a.txt"}]}
    assert document.request_problems("POST", MESSAGES, {}, body) == []
    post = {"name": "post", "auto_archive_duration": 1440, "message": {"content": "x"}}
    threads = "/channels/{channel_id}/threads"
    assert document.request_problems("POST", threads, {"use_nested_fields": "1"}, post) == []


@needs_document
def test_replies_without_required_keys_are_reported(document: OpenApi) -> None:
    assert document.reply_problems("GET", "/users/@me", 200, {"id": "1"})
    assert document.reply_problems("GET", "/users/@me", 204, None)


@pytest.mark.parametrize("name", ["", " ", "x" * 81, "Clyde", "my discord friend"])
def test_webhook_names_that_discord_refuses(name: str) -> None:
    with pytest.raises(ApiError) as refused:
        check_webhook_name(name)
    assert refused.value.code == 50035


def _button(**extra: Any) -> dict[str, Any]:
    return {"type": 2, "style": 1, "label": "x", "custom_id": "x"} | extra


@pytest.mark.parametrize(
    "body",
    [
        {"components": [{"type": 1, "components": [_button(custom_id=str(n)) for n in range(6)]}]},
        {"components": [{"type": 1, "components": [_button(), _button()]}]},
        {"components": [{"type": 1, "components": [_button(label="x" * 81)]}]},
        {"components": [{"type": 1, "components": [_button(label="")]}]},
        {"components": [{"type": 1, "components": [_button(custom_id=str(n))]} for n in range(6)]},
        {"components": [{"type": 10, "content": "needs the flag"}]},
        {"content": "x", "flags": 1 << 15},
        {"content": "x", "nonce": "x" * 26},
        {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}},
        {"content": "x", "allowed_mentions": {"users": [str(n) for n in range(101)]}},
        {"embeds": [{"title": "x"}] * 11},
        {"embeds": [{}]},
    ],
)
def test_messages_that_discord_refuses(body: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as refused:
        check_message(body)
    assert (refused.value.status, refused.value.rule) == (400, True)


def test_texts_are_counted_in_characters_and_totals_are_inclusive() -> None:
    check_message({"content": "😀" * 2000})
    check_message({"embeds": [{"description": "x" * 3000}, {"description": "x" * 3000}]})
    check_message({"components": [{"type": 10, "content": "x"}], "flags": 1 << 15})


@pytest.mark.parametrize(
    "modal",
    [
        {"title": "x" * 46, "custom_id": "a", "components": [{"type": 10, "content": "x"}]},
        {"title": "x", "custom_id": "", "components": [{"type": 10, "content": "x"}]},
        {"title": "x", "custom_id": "a", "components": [{"type": 10, "content": "x"}] * 6},
        {"title": "x", "custom_id": "a", "components": []},
        {
            "title": "x",
            "custom_id": "a",
            "components": [{"type": 18, "label": "x" * 46, "component": {"type": 4, "custom_id": "f"}}],
        },
        {
            "title": "x",
            "custom_id": "a",
            "components": [
                {"type": 18, "label": "x", "component": {"type": 4, "custom_id": "f", "value": "x" * 4001}}
            ],
        },
    ],
)
def test_forms_that_discord_refuses(modal: dict[str, Any]) -> None:
    with pytest.raises(ApiError):
        check_modal(modal)


def _command(name: str = "scene", **extra: Any) -> dict[str, Any]:
    return {"name": name, "description": "d", "type": 1} | extra


def _option(name: str, kind: int = 3, **extra: Any) -> dict[str, Any]:
    return {"name": name, "description": "d", "type": kind} | extra


@pytest.mark.parametrize(
    "commands",
    [
        [_command("Bad Name")],
        [_command(description="")],
        [_command(), _command()],
        [_command(f"c{number}") for number in range(101)],
        [{"name": f"menu {number}", "type": 3} for number in range(16)],
        [_command(options=[_option(f"o{number}") for number in range(26)])],
        [_command(options=[_option("a"), _option("b", required=True)])],
        [_command(options=[_option("a", choices=[{"name": "n", "value": "v"}] * 26)])],
        [_command(options=[_option(f"s{n}", 1, description="x" * 100) for n in range(25)] * 4)],
        [_command(options=[_option("g", 2, options=[_option("h", 2, options=[_option("i", 1)])])])],
    ],
)
def test_commands_that_discord_refuses(commands: list[dict[str, Any]]) -> None:
    with pytest.raises(ApiError):
        check_commands(commands)


def test_commands_at_their_limits_are_taken() -> None:
    check_commands([_command(f"c{number}") for number in range(100)])
    check_commands([_command(options=[_option("g", 2, options=[_option("s", 1, options=[_option("a")])])])])
    check_commands([_command("überall-日本"), {"name": "Why this reply?", "type": 3}])


def _guild(*roles: Role) -> tuple[Guild, Member, Channel]:
    clock = Clock()
    guild = Guild(1, "g", owner_id=99)
    guild.roles[1] = Role(1, 1, "@everyone", int(Permission.VIEW_CHANNEL | Permission.SEND_MESSAGES))
    member = Member(User(2, "alice"), 1, clock.wall(), [role.id for role in roles])
    guild.members[2] = member
    guild.roles |= {role.id: role for role in roles}
    channel = Channel(3, 0, "c", 1)
    guild.channels[3] = channel
    return guild, member, channel


def test_overwrites_are_applied_in_discords_order() -> None:
    role = Role(5, 1, "r", 0)
    guild, _, channel = _guild(role)
    view, send = int(Permission.VIEW_CHANNEL), int(Permission.SEND_MESSAGES)
    channel.overwrites[1] = Overwrite(1, 0, deny=view)
    assert channel_permissions(guild, 2, channel) == 0
    channel.overwrites[5] = Overwrite(5, 0, allow=view, deny=send)
    assert channel_permissions(guild, 2, channel) == view
    channel.overwrites[2] = Overwrite(2, 1, allow=send)
    assert channel_permissions(guild, 2, channel) == view | send
    thread = Channel(6, 11, "t", 1, parent_id=3)
    assert channel_permissions(guild, 2, thread) == view | send


def test_administrators_see_everything_and_strangers_nothing() -> None:
    guild, _, channel = _guild(Role(5, 1, "r", int(Permission.ADMINISTRATOR)))
    channel.overwrites[1] = Overwrite(1, 0, deny=int(Permission.VIEW_CHANNEL))
    assert channel_permissions(guild, 2, channel) == ALL
    assert channel_permissions(guild, 77, channel) == 0


def test_pings_need_permission_and_consent() -> None:
    guild, member, _ = _guild(Role(5, 1, "r", 0, mentionable=True), Role(6, 1, "s", 0))
    users = {2: member.user}
    text = "<@2> <@&5> <@&6> @everyone"
    plain = pings(text, users=users, guild=guild, may_mention_everyone=False)
    assert (plain.users, plain.roles, plain.everyone) == ([member.user], [5], False)
    loud = pings(text, users=users, guild=guild, may_mention_everyone=True)
    assert (loud.roles, loud.everyone) == ([5, 6], True)
    none = pings(text, users=users, guild=guild, may_mention_everyone=True, allowed={"parse": []})
    assert (none.users, none.roles, none.everyone) == ([], [], False)


def test_ids_rise_and_carry_their_time() -> None:
    clock = Clock()
    ids = Snowflakes(clock)
    made = [ids.next() for _ in range(2000)]
    assert made == sorted(set(made))
    assert abs((moment_of(made[0]) - clock.wall()).total_seconds()) < 5
    clock.advance(3600)
    assert (moment_of(ids.next()) - moment_of(made[0])).total_seconds() > 3590
