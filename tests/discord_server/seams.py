"""Points the unmodified discord.py client at a loopback server, and refuses any other host."""

from __future__ import annotations

import ipaddress
from typing import Any

import yarl

LOCAL_NAMES = frozenset({"localhost"})


def check_loopback(address: str) -> str:
    """Return the address. Raises ValueError unless its host is this machine: a bot token is sent there."""
    host = yarl.URL(address).host or ""
    if host not in LOCAL_NAMES:
        try:
            local = ipaddress.ip_address(host).is_loopback
        except ValueError:
            local = False
        if not local:
            raise ValueError(f"{address!r} is not a loopback address")
    return address


def seams(rest_base: str, gateway: str, cdn: str | None) -> list[tuple[Any, str, Any]]:
    """Return what to replace in discord.py, as (owner, attribute, value)."""
    import discord.asset  # noqa: PLC0415 - the server itself does not need the client
    import discord.gateway  # noqa: PLC0415
    import discord.http  # noqa: PLC0415

    replaced: list[tuple[Any, str, Any]] = [
        (discord.http.Route, "BASE", check_loopback(rest_base)),
        (discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(check_loopback(gateway))),
    ]
    if cdn is not None:
        replaced.append((discord.asset.Asset, "BASE", check_loopback(cdn)))
    return replaced


def point_discord_at(rest_base: str, gateway: str, cdn: str | None = None) -> None:
    """Send every request of this process's discord.py to the given addresses, for good."""
    for owner, name, value in seams(rest_base, gateway, cdn):
        setattr(owner, name, value)
