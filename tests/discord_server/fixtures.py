"""Pytest fixtures of the loopback Discord; a conftest imports them by name."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from .schema import SPEC_PATH
from .server import DiscordServer


class LoggedErrors(logging.Handler):
    """Keeps what is logged at error level while a test runs."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.records.append(record)

    def take(self) -> list[logging.LogRecord]:
        """Return the records so far and forget them: for tests that provoke some."""
        found, self.records = self.records, []
        return found

    def described(self) -> str:
        """Return the records with their tracebacks."""
        return "\n".join(logging.Formatter("%(name)s: %(message)s").format(record) for record in self.records)


@pytest.fixture
def logged_errors(request: pytest.FixtureRequest) -> Iterator[LoggedErrors]:
    """Fail the test when anything logs an error, unless it is marked `logs_exceptions`."""
    handler = LoggedErrors()
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)
    if not request.node.get_closest_marker("logs_exceptions"):
        assert not handler.records, f"errors were logged:\n{handler.described()}"


@pytest.fixture
async def discord_server(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, logged_errors: LoggedErrors
) -> AsyncIterator[DiscordServer]:
    """A listening loopback Discord that this process's discord.py talks to.

    Fails the test when a request broke Discord's rules. `@pytest.mark.parametrize("discord_server",
    [{"clock_factor": 10}], indirect=True)` passes arguments to DiscordServer.
    """
    async with DiscordServer(**getattr(request, "param", {})) as server:
        server.patch(monkeypatch)
        yield server
    assert not server.violations, "\n".join(str(item) for item in server.violations)


def missing_specification(path: Path = SPEC_PATH) -> str | None:
    """Return the line that tells that the OpenAPI checks are off, None when they are on."""
    if path.is_file():
        return None
    return f"loopback Discord: OpenAPI checks skipped, ../{path.parent.name}/{path.name} is absent"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end of a run when the OpenAPI checks were off."""
    line = missing_specification()
    if line is not None:
        terminalreporter.write_line(line, yellow=True)
