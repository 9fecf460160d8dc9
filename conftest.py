"""Fixtures that every test may use, and the two loopback servers where they are present."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from bot.engine import indexing

# How fast generated cases come depends on what else the machine does.
settings.register_profile("troupe", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("troupe")

os.environ["HF_HUB_OFFLINE"] = "1"

ROOT = Path(__file__).parent
_SERVERS = ("tests/discord_server/fixtures.py", "tests/model_server/fixtures.py")

pytest_plugins = [path.removesuffix(".py").replace("/", ".") for path in _SERVERS if (ROOT / path).is_file()]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "logs_exceptions: the test provokes exceptions that the bot logs")


class _Exceptions(logging.Handler):
    """Keeps what was logged as an error together with an exception."""

    def __init__(self) -> None:
        super().__init__(level=logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0] is not None:
            self.texts.append(logging.Formatter("%(name)s: %(message)s").format(record))


@pytest.fixture(autouse=True)
def no_logged_exceptions(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails the test when an exception was logged, unless it is marked `logs_exceptions`."""
    if request.node.get_closest_marker("logs_exceptions"):
        yield
        return
    handler = _Exceptions()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
    if handler.texts:
        pytest.fail("exceptions were logged:\n" + "\n".join(handler.texts), pytrace=False)


@pytest.fixture
def hurried_indexer(monkeypatch: pytest.MonkeyPatch) -> None:
    """New memories are indexed at once instead of waiting for company."""
    monkeypatch.setattr(indexing, "GATHER_SECONDS", 0.0)


@pytest.fixture
def own_logging() -> Iterator[None]:
    """Lets a test set up the process's logging; afterwards it is as before."""
    top = logging.getLogger()
    handlers, level = list(top.handlers), top.level
    levels = {name: logger.level for name, logger in _loggers().items()}
    top.handlers = []
    try:
        yield
    finally:
        logging.captureWarnings(False)
        top.handlers = handlers
        top.setLevel(level)
        for name, logger in _loggers().items():
            logger.setLevel(levels.get(name, logging.NOTSET))


def _loggers() -> dict[str, logging.Logger]:
    known = logging.Logger.manager.loggerDict
    return {name: logger for name, logger in known.items() if isinstance(logger, logging.Logger)}


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT
