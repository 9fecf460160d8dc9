"""Pytest fixtures of the loopback Discord; a conftest imports them by name."""

from __future__ import annotations

import logging
import warnings
from collections.abc import AsyncIterator, Iterator

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
    note_missing_specification(request.config)
    async with DiscordServer(**getattr(request, "param", {})) as server:
        server.patch(monkeypatch)
        yield server
    assert not server.violations, "\n".join(str(item) for item in server.violations)


def note_missing_specification(config: pytest.Config) -> None:
    """Warn once, visibly but without failing, that the OpenAPI checks are off."""
    if SPEC_PATH.is_file() or getattr(config, "_loopback_noted", False):
        return
    config._loopback_noted = True  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        config.issue_config_time_warning(
            pytest.PytestWarning(f"OpenAPI checks are skipped: ../shared/{SPEC_PATH.name} is absent"),
            stacklevel=2,
        )
