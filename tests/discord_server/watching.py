"""Looking into the loopback Discord from a test: what happened so far, and waiting for what comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from .intents import MESSAGE_CONTENT
from .interactions import Interaction
from .log import RequestRecord, Violation
from .models import Channel, Message

if TYPE_CHECKING:
    from .gateway import Gateway
    from .wire import Signal


class Watching:
    """The log of a DiscordServer and its waiting helpers; nothing here sleeps."""

    gateway: Gateway
    changed: Signal
    requests: list[RequestRecord]
    request_count: int
    violations: list[Violation]
    interactions: dict[int, Interaction]
    log_limit: int | None

    @property
    def reads_content(self) -> bool:
        """Whether the bot identified with the message content intent (true before it identified)."""
        sessions = list(self.gateway.sessions.values())
        return not sessions or any(session.intents & MESSAGE_CONTENT for session in sessions)

    @property
    def interaction_log(self) -> list[Interaction]:
        """Every interaction so far, in order."""
        return list(self.interactions.values())

    @property
    def invalid_requests(self) -> int:
        """How many answers counted toward Discord's ban for invalid requests (401, 403, 429)."""
        return sum(item.status in (401, 403, 429) for item in self.requests)

    def messages(self, channel: Channel) -> list[Message]:
        """Return the messages that are in a channel now, oldest first."""
        return [channel.by_id[identifier] for identifier in channel.order]

    def log_request(self, record: RequestRecord) -> None:
        """Keep a request, and forget the older half when there are too many."""
        self.request_count += 1
        self.requests.append(record)
        if self.log_limit is not None and len(self.requests) > self.log_limit:
            del self.requests[: self.log_limit // 2]

    def requests_to(self, method: str, template: str) -> list[RequestRecord]:
        """Return the requests of one kind; the template is like "/channels/{channel_id}/typing"."""
        return [item for item in self.requests if item.method == method and item.template == template]

    def take_violations(self) -> list[Violation]:
        """Return the violations so far and forget them: for tests that provoke some."""
        found, self.violations = self.violations, []
        return found

    async def until(
        self, ready: Callable[[], object], timeout: float = 30.0, what: str = "a condition"
    ) -> None:
        """Return when `ready()` is true; it is asked again after every change. Raises TimeoutError."""
        await self.changed.until(ready, timeout, what)

    async def ready(self, timeout: float = 40.0) -> None:
        """Return when a bot is connected, has identified and its guilds are on the wire."""
        await self.until(
            lambda: any(s.connection for s in self.gateway.sessions.values()), timeout, "an IDENTIFY"
        )
        await asyncio.wait_for(self.gateway.flushed(), timeout)

    async def wait_for_message(
        self, channel: Channel, predicate: Callable[[Message], object] | None = None, timeout: float = 30.0
    ) -> Message:
        """Return the first message of a channel that fits, waiting for it when it is not there yet."""
        found: list[Message] = []

        def look() -> bool:
            found.extend(item for item in self.messages(channel) if predicate is None or predicate(item))
            return bool(found)

        await self.until(look, timeout, f"a message in #{channel.name}")
        return found[0]

    async def wait_for_request(
        self,
        method: str,
        template: str,
        predicate: Callable[[RequestRecord], object] | None = None,
        timeout: float = 30.0,
    ) -> RequestRecord:
        """Return the first answered request that fits, waiting for it when it did not come yet."""
        found: list[RequestRecord] = []
        waiting: list[RequestRecord] = []
        seen = -1

        def look() -> bool:
            nonlocal seen
            for item in reversed(self.requests):
                if item.index <= seen:
                    break
                if (item.method, item.template) == (method, template):
                    waiting.append(item)
            seen = self.request_count - 1
            waiting.sort(key=lambda item: item.index)
            for item in [item for item in waiting if item.status or item.fault]:
                waiting.remove(item)
                if predicate is None or predicate(item):
                    found.append(item)
            return bool(found)

        await self.until(look, timeout, f"{method} {template}")
        return found[0]
