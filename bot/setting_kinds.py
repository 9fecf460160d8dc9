"""The kinds of values that settings may have, and how each is read from the text that an owner wrote."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr

from bot import fallbacks

BUNDLED: Final = "bundled"
"""The value of LLM_MODEL and EMBEDDING_MODEL that needs no network and no account."""
SERVED: Final = "openai:"
"""What stands in EMBEDDING_MODEL before the name of a model at an OpenAI-compatible server."""


@dataclass(frozen=True, slots=True)
class About:
    """What a problem with a setting tells its owner: what was expected, and a value that works."""

    expected: str
    example: str


def _address(value: str) -> str:
    """The base of an OpenAI-compatible server, without a trailing slash or the name of a method."""
    address = value.rstrip("/").removesuffix("/chat/completions").rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("not an http address")
    return address


def _without_prefix(value: object) -> object:
    return value.removeprefix("Bot ").strip() if isinstance(value, str) else value


def _one_word(secret: SecretStr) -> SecretStr:
    if any(character.isspace() for character in secret.get_secret_value()):
        raise ValueError("holds a space")
    return secret


def _server_is_none(value: object) -> object:
    return None if value == "server" else value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _fallbacks(value: object) -> object:
    if not isinstance(value, str):
        return value
    found = fallbacks.parse(value)
    for one in found:
        _not_bundled(one.model)
    return tuple(replace(one, address=_address(one.address)) if one.address else one for one in found)


def _named(model: str) -> str:
    if model.removeprefix(SERVED) == "":
        raise ValueError("names no model")
    return model


def _not_bundled(name: str) -> str:
    if name == BUNDLED:
        raise ValueError("has no server of its own")
    return name


Address = Annotated[str, AfterValidator(_address)]
Secret = Annotated[SecretStr, AfterValidator(_one_word)]
ServedModel = Annotated[str, AfterValidator(_not_bundled)]
"""A model's name at a server."""
FALLBACKS: Final = BeforeValidator(_fallbacks)
LOWER: Final = BeforeValidator(_lower)
NAMED: Final = AfterValidator(_named)
SERVER_IS_NONE: Final = BeforeValidator(_server_is_none)
WITHOUT_PREFIX: Final = BeforeValidator(_without_prefix)
"""People copy a token with the word that stands before it in a request."""
