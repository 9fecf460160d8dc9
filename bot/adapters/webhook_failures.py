"""What goes wrong when something is said in Discord, in our own errors, and never posted twice for it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import aiohttp
import discord

from bot.adapters.webhook_shelf import CannotUseWebhooks
from bot.errors import DeliveryError

TRANSPORT = (aiohttp.ClientError, OSError, TimeoutError)
"""A connection that failed, in the words of those who hold it."""


class ServerTrouble(aiohttp.ClientError):
    """Discord answered 5xx: nobody knows whether the message arrived. discord.py would post it again."""


class Busy(aiohttp.ClientError):
    """Discord answered 429 without saying it in JSON, which discord.py cannot read. Nothing arrived."""


async def no_blind_repeat(response: aiohttp.ClientResponse) -> None:
    """For a session's `raise_for_status`: raises what discord.py would answer by posting again."""
    if response.status >= 500:
        raise ServerTrouble(f"Discord answered {response.status}")
    if response.status == 429 and response.content_type != "application/json":
        raise Busy("Discord answered 429")


@contextlib.asynccontextmanager
async def our_failures() -> AsyncIterator[None]:
    """Turns the libraries' exceptions into `DeliveryError`; `Busy` passes, for the caller to wait."""
    try:
        yield
    except Busy:
        raise
    except CannotUseWebhooks as problem:
        raise DeliveryError(str(problem)) from problem
    except discord.DiscordServerError as problem:
        raise DeliveryError(f"Discord answered {problem.status}", uncertain=True) from problem
    except discord.HTTPException as problem:
        text = f"Discord answered {problem.status} (code {problem.code})"
        raise DeliveryError(text, refused=True) from problem
    except discord.RateLimited as problem:
        raise DeliveryError("Discord asks for patience") from problem
    except TRANSPORT as problem:
        raise DeliveryError(f"the connection failed: {type(problem).__name__}", uncertain=True) from problem
    except RuntimeError as problem:  # the session was closed meanwhile
        raise DeliveryError("the connection to Discord was closed", uncertain=True) from problem
