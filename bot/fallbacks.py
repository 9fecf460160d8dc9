"""The models that answer while the first is down, as the setting LLM_FALLBACKS lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic import SecretStr

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ADDRESS: Final = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class Fallback:
    """One model. Without an address it is at the server of LLM_BASE_URL; `key_variable` names its key."""

    model: str
    address: str | None = field(default=None, repr=False)
    key_variable: str | None = None
    key: SecretStr | None = None


def parse(text: str) -> tuple[Fallback, ...]:
    """Read `model [address] [variable of the key]; model …`. ValueError when a part is none of these."""
    return tuple(_entry(entry.split()) for entry in re.split(r"[;\n]", text) if entry.strip())


def _entry(words: Sequence[str]) -> Fallback:
    model, *others = words
    address = others.pop(0).rstrip("/") if others and others[0].startswith(_ADDRESS) else None
    variable = others.pop(0) if others else None
    if others or model.startswith(_ADDRESS) or (variable and not _VARIABLE.fullmatch(variable)):
        raise ValueError("not a model, an address and a variable")
    return Fallback(model, address, variable)


def key_variables(fallbacks: Sequence[Fallback]) -> tuple[str, ...]:
    """The variables whose values are keys."""
    return tuple(dict.fromkeys(one.key_variable for one in fallbacks if one.key_variable))


def with_keys(
    fallbacks: Sequence[Fallback], values: Mapping[str, str], *, main_key: SecretStr | None, main: str | None
) -> tuple[Fallback, ...]:
    """The same with their keys. The key of LLM_BASE_URL's server goes to no other server."""
    return tuple(
        replace(one, key=SecretStr(values[one.key_variable]))
        if one.key_variable in values and one.key_variable is not None
        else replace(one, key=main_key if one.address in {None, main} and one.key_variable is None else None)
        for one in fallbacks
    )


def problems(fallbacks: Sequence[Fallback], values: Mapping[str, str], *, main: str | None) -> Iterator[str]:
    """What is missing for them, one line each."""
    for variable in key_variables(fallbacks):
        if not values.get(variable, "") or any(map(str.isspace, values[variable])):
            yield f"{variable} is not set to one word, and LLM_FALLBACKS names it as a key: expected the key"
    if main is None and any(one.address is None for one in fallbacks):
        yield (
            "LLM_FALLBACKS names a model without an address, and LLM_BASE_URL is not set: expected "
            "`model address`, for example LLM_FALLBACKS=llama3.2 http://127.0.0.1:11434/v1"
        )
