"""What the server says without a script: a line in character, or JSON that fits the asked schema."""

from __future__ import annotations

import json

from tests.model_server.wire import Json, messages_of


def improvise(body: Json, number: int) -> str:
    """Return the same answer for the same request and number."""
    wanted = body.get("response_format")
    if isinstance(wanted, dict) and wanted.get("type") == "json_schema":
        schema = wanted["json_schema"]["schema"]
        return json.dumps(_fitting(schema, schema))
    if isinstance(wanted, dict):
        return "{}"
    said = str(messages_of(body)[-1].get("content")).strip().splitlines()[-1:] if messages_of(body) else []
    heard = said[0].rpartition(": ")[2].strip(' "').rstrip(".!?") if said else ""
    return f"*looks up* That is the {number}. thing you tell me: {heard[:60]}. I will keep it in mind."


def _fitting(schema: Json, root: Json) -> object:
    """Return the plainest value that fits a JSON schema."""
    if isinstance(reference := schema.get("$ref"), str):
        return _fitting(_at(root, reference), root)
    for choice in ("anyOf", "oneOf", "allOf"):
        if isinstance(options := schema.get(choice), list) and options:
            return _fitting(options[0], root)
    if "const" in schema:
        return schema["const"]
    if isinstance(values := schema.get("enum"), list) and values:
        return values[0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object" or "properties" in schema:
        properties = schema.get("properties")
        fields = properties if isinstance(properties, dict) else {}
        return {name: _fitting(inner, root) for name, inner in fields.items()}
    if kind == "array":
        least = schema.get("minItems")
        inner = schema.get("items")
        return [_fitting(inner if isinstance(inner, dict) else {}, root)] * (
            least if isinstance(least, int) else 0
        )
    if kind in {"integer", "number"}:
        return schema.get("minimum", 1)
    return {"boolean": False, "null": None}.get(str(kind), "noted")


def _at(root: Json, reference: str) -> Json:
    found: object = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step] if isinstance(found, dict) else {}
    return found if isinstance(found, dict) else {}
