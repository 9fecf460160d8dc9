"""One form of line, with ids, without secrets; nothing a member writes can forge a line."""

from __future__ import annotations

import io
import logging
import re
import warnings

import pytest

from bot import log

SECRET = "MTIzNDU2.Gabcde.do-not-show-me"


@pytest.fixture
def stream(own_logging: None) -> io.StringIO:
    """The log as text."""
    text = io.StringIO()
    log.set_up("debug", [SECRET, ""], text)
    return text


def test_a_record_is_one_line_with_its_ids(stream: io.StringIO) -> None:
    logging.getLogger("bot.engine").info("Replied in %s", "The Inn", extra={"place_id": 12, "turn_id": 5})
    line = stream.getvalue()
    assert re.fullmatch(
        r"[\d-]{10}T[\d:]{8}[+-]\d{4} INFO    bot\.engine: Replied in The Inn \[place=12 turn=5\]\n",
        line,
    )


@pytest.mark.parametrize(
    "forged", ["a\nERROR b", "a\r\nb", "a\x1b[2Jb", "a\u2028b", "a\u202eb", "a\x00\x07b"]
)
def test_control_characters_cannot_forge_a_line(stream: io.StringIO, forged: str) -> None:
    logging.getLogger("bot").info("They said %s", forged)
    assert len(stream.getvalue().splitlines()) == 1
    assert re.search(r"[\x00-\x09\x0b-\x1f\u2028\u202e]", stream.getvalue()) is None


def test_a_secret_is_hidden_wherever_it_stands(stream: io.StringIO) -> None:
    try:
        raise ValueError(f"bad {SECRET}")
    except ValueError:
        logging.getLogger("bot").warning("with %s", SECRET, exc_info=True)
    assert SECRET not in stream.getvalue()
    assert stream.getvalue().count("[hidden]") == 2
    assert "    Traceback" in stream.getvalue()


def test_tokens_in_addresses_and_headers_are_hidden(stream: io.StringIO) -> None:
    logging.getLogger("bot").info(
        "POST https://discord.com/api/webhooks/123/abcDEF-_ghiJKLmnop and Bearer sk-0123456789abcdef"
    )
    assert "abcDEF" not in stream.getvalue()
    assert "sk-0123" not in stream.getvalue()
    assert "/webhooks/123/[hidden]" in stream.getvalue()


@pytest.mark.parametrize("name", ["openai", "httpx2", "discord.gateway", "sqlalchemy", "asyncio"])
def test_libraries_stay_quiet_also_at_debug(stream: io.StringIO, name: str) -> None:
    logging.getLogger(name).info("chatter")
    assert stream.getvalue() == ""
    logging.getLogger(name).warning("matter")
    assert "matter" in stream.getvalue()


def test_warnings_of_python_come_as_records(stream: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old way", stacklevel=1)
    assert "old way" in stream.getvalue()
