"""What Troupe must be allowed to do on Discord, and the link that asks for exactly that."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

VIEW_CHANNEL: Final = 1 << 10
SEND_MESSAGES: Final = 1 << 11
EMBED_LINKS: Final = 1 << 14
READ_MESSAGE_HISTORY: Final = 1 << 16
MANAGE_WEBHOOKS: Final = 1 << 29
SEND_MESSAGES_IN_THREADS: Final = 1 << 38

NEEDED: Final[dict[int, str]] = {
    VIEW_CHANNEL: "View Channel",
    SEND_MESSAGES: "Send Messages",
    SEND_MESSAGES_IN_THREADS: "Send Messages in Threads",
    MANAGE_WEBHOOKS: "Manage Webhooks",
    READ_MESSAGE_HISTORY: "Read Message History",
    EMBED_LINKS: "Embed Links",
}
"""Permission bit to the name that Discord shows for it."""

ESSENTIAL: Final = frozenset(NEEDED[bit] for bit in (VIEW_CHANNEL, SEND_MESSAGES, SEND_MESSAGES_IN_THREADS))
"""Without one of these no scene can be played; without the others something is missing."""

PERMISSIONS: Final = sum(NEEDED)
"""All needed bits, as the invite link carries them."""


def invite_link(application_id: int) -> str:
    """Return the address where a server's owner adds the bot, with exactly the permissions it needs."""
    query = urlencode(
        {"client_id": application_id, "scope": "bot applications.commands", "permissions": PERMISSIONS}
    )
    return f"https://discord.com/oauth2/authorize?{query}"


def missing_permissions(granted: int, *, thread: bool = False) -> list[str]:
    """Name the needed permissions that `granted` lacks in a channel, or in a thread.

    In a thread Send Messages does not count, elsewhere Send Messages in Threads does not.
    """
    unused = SEND_MESSAGES if thread else SEND_MESSAGES_IN_THREADS
    return [name for bit, name in NEEDED.items() if bit != unused and not granted & bit]
