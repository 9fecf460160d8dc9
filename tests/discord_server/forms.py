"""What a user's client sends when it submits a form or picks from a select menu."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .errors import ScriptError
from .options import Resolved

if TYPE_CHECKING:
    from .interactions import Modal

TEXT_INPUT, STRING_SELECT, TEXT_DISPLAY, LABEL, FILE_UPLOAD = 4, 3, 10, 18, 19
RADIO_GROUP, CHECKBOX_GROUP, CHECKBOX = 21, 22, 23


def submitted(
    modal: Modal, values: Mapping[str, Any], files: Mapping[str, Any], resolved: Resolved
) -> list[dict[str, Any]]:
    """Return the components of a submitted form; what is not given stays as the bot prefilled it.

    Raises ScriptError for fields that the form does not have and for values that the client would refuse.
    """
    known = modal.fields
    strangers = [name for name in [*values, *files] if name not in known]
    if strangers:
        raise ScriptError(f"the form {modal.title!r} has no fields {strangers}; it has {sorted(known)}")
    given = {**values, **files}
    answer = []
    for top in modal.components:
        if top["type"] == LABEL:
            field = _field(top["component"], given, resolved)
            answer.append({"type": LABEL, "id": top["id"], "component": field})
        elif top["type"] == TEXT_DISPLAY:
            answer.append({"type": TEXT_DISPLAY, "id": top["id"]})
        else:
            fields = [_field(item, given, resolved) for item in top["components"]]
            answer.append({"type": 1, "id": top["id"], "components": fields})
    return answer


def _field(field: dict[str, Any], given: Mapping[str, Any], resolved: Resolved) -> dict[str, Any]:
    name, kind = field["custom_id"], field["type"]
    answer = {"type": kind, "id": field["id"], "custom_id": name}
    value = given.get(name)
    if kind == TEXT_INPUT:
        return answer | {"value": _text(field, field.get("value") or "" if value is None else value)}
    if kind == FILE_UPLOAD:
        listed = [] if value is None else value if isinstance(value, list) else [value]
        _check_count(field, listed, required=field.get("required", True))
        return answer | {"values": [resolved.file(item) for item in listed]}
    if kind == CHECKBOX:
        return answer | {"value": bool(field.get("default") if value is None else value)}
    if kind == RADIO_GROUP:
        return answer | {"value": _one_of(field, value)}
    return answer | {"values": picked(field, value, resolved, required=field.get("required", True))}


def _text(field: dict[str, Any], value: str) -> str:
    low, high = field.get("min_length") or 0, field.get("max_length") or 4000
    required = field.get("required", True)
    if len(value) > high or (value and len(value) < low) or (required and not value.strip()):
        raise ScriptError(
            f"the field {field['custom_id']!r} takes {low} to {high} characters, not {len(value)}"
        )
    return value


def _one_of(field: dict[str, Any], value: Any) -> Any:
    options = field.get("options") or []
    if value is None:
        value = next((item["value"] for item in options if item.get("default")), None)
    if value is None and field.get("required", True):
        raise ScriptError(f"the field {field['custom_id']!r} needs a choice")
    if value is not None and value not in [item["value"] for item in options]:
        raise ScriptError(f"the field {field['custom_id']!r} has no option {value!r}")
    return value


def picked(field: dict[str, Any], value: Any, resolved: Resolved, *, required: bool = True) -> list[str]:
    """Return what a select or checkbox group sends for the picked values (labels or values) or objects."""
    options = field.get("options")
    listed = [] if value is None else value if isinstance(value, list) else [value]
    if options is not None and value is None:
        listed = [item["value"] for item in options if item.get("default")]
    _check_count(field, listed, required=required)
    if options is None:
        return [resolved.add(item) for item in listed]
    found = []
    for item in listed:
        option = next((option for option in options if item in (option["value"], option["label"])), None)
        if option is None:
            raise ScriptError(f"{field['custom_id']!r} offers {[o['label'] for o in options]}, not {item!r}")
        found.append(option["value"])
    return found


def _check_count(field: dict[str, Any], listed: list[Any], *, required: bool) -> None:
    low, high = field.get("min_values", 1), field.get("max_values", 1)
    if not listed and not required:
        return
    if not low <= len(listed) <= max(high, low):
        raise ScriptError(f"{field['custom_id']!r} takes {low} to {high} values, not {len(listed)}")
