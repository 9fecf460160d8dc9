"""What travels with a character card's file: mended parts, root fields, a report; the card to be written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bot.core.cards import LISTS, TEXTS, as_list, as_text, read_card_json
from bot.core.macros import unknown_macros

DEEPEST: Final = 60
"""Levels of objects and lists that a card may have."""
_FLAT: Final = frozenset(TEXTS[:6])
_FRAME: Final = frozenset({"spec", "spec_version", "data"})
_TROUPE: Final = "troupe"
_ROOT: Final = "root"
"""Where the fields that stood beside `data` wait in our extension, so that they come back on export."""


@dataclass(frozen=True, slots=True)
class CardReport:
    """What was read from a file, for the answer to an import."""

    kind: str
    """"PNG", "JSON" or "CHARX"."""
    name: str
    sizes: Mapping[str, int]
    """Characters of each text that is not empty."""
    greetings: int
    lore_entries: int
    assets: int
    unknown_macros: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    """One sentence for each thing that was broken or left out."""


@dataclass(frozen=True, slots=True)
class CardFile:
    """A card read from a file. `data` is the `data` object of a card V3, complete."""

    data: Mapping[str, Any]
    report: CardReport
    avatar: bytes | None = field(default=None, repr=False)
    """A PNG of at most 256 KiB."""
    archive: bytes | None = field(default=None, repr=False)
    """The CHARX that it came in, when that holds other files than the card and its icon."""


def read_card(card: object, fallback_name: str = "") -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the complete `data` object of a card in any format, and what was mended, a sentence each.

    Raises ValueError, with a sentence for the member, when it is no card.
    """
    notes: list[str] = []
    card = _clean(card, notes)
    if isinstance(card, Mapping):
        _check_kind(card)
    data = read_card_json(card, fallback_name)
    assert isinstance(card, Mapping)
    inner = _inner(card)
    notes += _wrong_kinds(inner)
    if not str(inner.get("name") or inner.get("char_name") or "").strip():
        notes.append(f"It had no name of its own; it is called “{data['name'][:80]}”.")
    elif len(data["name"]) > 80:
        notes.append("Its name has more than 80 characters; it is shown cut.")
    _mend_book(data, notes)
    if inner is not card:
        _keep_root(data, card)
    return data, tuple(dict.fromkeys(notes))


def report_of(data: Mapping[str, Any], kind: str, mended: tuple[str, ...] = ()) -> CardReport:
    """Return the report of a complete `data` object."""
    greetings = [data["first_mes"], *data["alternate_greetings"], *data["group_only_greetings"]]
    entries = lore_entries(data)
    texts = [*(data[key] for key in TEXTS if key != "creator_notes"), *greetings]
    texts += [str(entry.get("content", "")) for entry in entries]
    assets = data.get("assets")
    return CardReport(
        kind=kind,
        name=data["name"],
        sizes={key: len(data[key]) for key in TEXTS if key != "name" and data[key]},
        greetings=sum(1 for greeting in greetings if greeting),
        lore_entries=len(entries),
        assets=len(assets) if isinstance(assets, list) else 0,
        unknown_macros=unknown_macros("\n".join(texts)),
        mended=mended,
    )


def lore_entries(card: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the entries of the card's own lorebook."""
    book = card.get("character_book")
    entries = book.get("entries") if isinstance(book, Mapping) else None
    return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []


def v3_card(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole card V3 of a `data` object, with the fields that once stood beside it."""
    return {**_root(data), "spec": "chara_card_v3", "spec_version": "3.0", "data": _exported(data)}


def v2_card(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same as a card V2, with the flat copy that the oldest readers look for."""
    exported = _exported(data)
    flat = {key: exported[key] for key in TEXTS[:6]}
    return {**_root(data), **flat, "spec": "chara_card_v2", "spec_version": "2.0", "data": exported}


def is_lorebook(card: Mapping[str, Any]) -> bool:
    """Tell a lorebook or world file, which has entries and nobody, from a character card."""
    inner = _inner(card)
    somebody = any(key in inner for key in (*TEXTS[2:6], "char_persona", "char_greeting"))
    return str(card.get("spec", "")).startswith("lorebook") or ("entries" in inner and not somebody)


def _inner(card: Mapping[str, Any]) -> Mapping[str, Any]:
    data = card.get("data")
    return data if isinstance(data, Mapping) else card


def _check_kind(card: Mapping[str, Any]) -> None:
    if is_lorebook(card):
        raise ValueError("This is a lorebook, not a character. `/lore import` takes it.")
    bare = "spec" not in card and not isinstance(card.get("data"), Mapping)
    told = (*TEXTS[1:6], "char_persona", "char_greeting", "world_scenario", "example_dialogue")
    if bare and not any(isinstance(text := card.get(key), str) and text.strip() for key in told):
        raise ValueError("Nothing of a character was found in this file.")


def _clean(value: object, notes: list[str], depth: int = 0) -> Any:
    """Copy JSON without what no text or database can hold: lone surrogates, NUL, NaN and infinity."""
    if depth > DEEPEST:
        raise ValueError(f"This card is nested more than {DEEPEST} levels deep, so it cannot be read.")
    if isinstance(value, str):
        clean = value.encode("utf-8", "replace").decode().replace("\0", "")
        if clean != value:
            notes.append("Characters that no text can hold were replaced.")
        return clean
    if isinstance(value, float) and not math.isfinite(value):
        notes.append("Numbers that JSON does not know (NaN, Infinity) were left out.")
        return None
    if isinstance(value, Mapping):
        return {_clean(str(key), notes): _clean(item, notes, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, notes, depth + 1) for item in value]
    return value


def _wrong_kinds(found: Mapping[str, Any]) -> list[str]:
    notes = []
    for key in (*TEXTS, *LISTS):
        value = found.get(key)
        kind, right = ("text", str) if key in TEXTS else ("list", list)
        if value is not None and not isinstance(value, right):
            usable = as_text(value) if key in TEXTS else as_list(key, value)
            how = "was left out" if usable is None else "was read as one"
            notes.append(f"Its `{key}` is no {kind} and {how}.")
    if found.get("extensions") is not None and not isinstance(found["extensions"], Mapping):
        notes.append("Its `extensions` are no object and were left out.")
    return notes


def _mend_book(data: dict[str, Any], notes: list[str]) -> None:
    """Give the card's lorebook the form every reader accepts: a list of entries and an extensions object."""
    if "character_book" not in data:
        return
    book = data["character_book"]
    if not isinstance(book, Mapping):
        notes.append("Its lorebook is no object and was left out.")
        del data["character_book"]
        return
    entries = book.get("entries", [])
    if isinstance(entries, Mapping):
        entries = list(entries.values())
    if not isinstance(entries, list):
        notes.append("The entries of its lorebook are no list and were left out.")
        entries = []
    kept = [entry for entry in entries if isinstance(entry, Mapping)]
    if len(kept) < len(entries):
        notes.append(f"{len(entries) - len(kept)} broken lore entries were left out.")
    extensions = book.get("extensions")
    data["character_book"] = {
        **book,
        "extensions": extensions if isinstance(extensions, Mapping) else {},
        "entries": kept,
    }


def _keep_root(data: dict[str, Any], card: Mapping[str, Any]) -> None:
    beside = {key: value for key, value in card.items() if key not in _FLAT | _FRAME and value is not None}
    if beside:
        own = data["extensions"].get(_TROUPE)
        own = {**own, _ROOT: beside} if isinstance(own, Mapping) else {_ROOT: beside}
        data["extensions"] = {**data["extensions"], _TROUPE: own}


def _root(data: Mapping[str, Any]) -> dict[str, Any]:
    own = data["extensions"].get(_TROUPE) if isinstance(data.get("extensions"), Mapping) else None
    kept = own.get(_ROOT) if isinstance(own, Mapping) else None
    return (
        {key: value for key, value in kept.items() if key not in _FRAME} if isinstance(kept, Mapping) else {}
    )


def _exported(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` complete, without what `_root` puts beside it."""
    complete = read_card_json({"data": data}, "Persona")
    own = complete["extensions"].get(_TROUPE)
    if isinstance(own, Mapping) and _ROOT in own:
        rest = {key: value for key, value in own.items() if key != _ROOT}
        others = {key: value for key, value in complete["extensions"].items() if key != _TROUPE}
        complete["extensions"] = {**others, _TROUPE: rest} if rest else others
    return complete
