"""Checks requests and replies against Discord's own OpenAPI document, where that file is present."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

SPEC_PATH = Path(__file__).resolve().parents[3] / "shared" / "discord-openapi.json"
_URI = "urn:discord"
# The client adds this undocumented query to forum posts; Discord takes it.
_ALLOWED_QUERIES = {("POST", "/channels/{channel_id}/threads"): {"use_nested_fields"}}
# The client sends this default with edits, where it means nothing.
_ALLOWED_KEYS = {"IncomingWebhookUpdateRequestPartial": ("tts",), "MessageEditRequestPartial": ("tts",)}
# Bodies whose schema in the document is too loose (an anyOf) or too broad to find unknown keys.
_EXACT_BODIES = {
    ("POST", "/webhooks/{webhook_id}/{webhook_token}"): "IncomingWebhookRequestPartial",
    (
        "PATCH",
        "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}",
    ): "IncomingWebhookUpdateRequestPartial",
    (
        "PATCH",
        "/webhooks/{webhook_id}/{webhook_token}/messages/@original",
    ): "IncomingWebhookUpdateRequestPartial",
    ("POST", "/channels/{channel_id}/messages"): "MessageCreateRequest",
    ("PATCH", "/channels/{channel_id}/messages/{message_id}"): "MessageEditRequestPartial",
}
_CALLBACKS = {
    1: "PongInteractionCallbackRequest",
    4: "CreateMessageInteractionCallbackRequest",
    5: "CreateMessageInteractionCallbackRequest",
    6: "UpdateMessageInteractionCallbackRequest",
    7: "UpdateMessageInteractionCallbackRequest",
    8: "ApplicationCommandAutocompleteCallbackRequest",
    9: "ModalInteractionCallbackRequest",
}
_CALLBACK = ("POST", "/interactions/{interaction_id}/{interaction_token}/callback")


@lru_cache(maxsize=1)
def specification() -> OpenApi | None:
    """Return the checks, loaded once; None where the document is absent."""
    if not SPEC_PATH.is_file():
        return None
    return OpenApi(json.loads(SPEC_PATH.read_text(encoding="utf-8")))


class OpenApi:
    """Validators for the operations of one OpenAPI 3.1 document."""

    def __init__(self, document: dict[str, Any]) -> None:
        """Take the parsed document."""
        self._document = document
        resource: Resource[Any] = Resource(contents=document, specification=DRAFT202012)
        self._registry: Registry[Any] = Registry().with_resource(_URI, resource)
        self._validators: dict[str, Draft202012Validator] = {}

    def request_problems(self, method: str, template: str, query: Mapping[str, str], body: Any) -> list[str]:
        """Return what is wrong with a request, an empty list when all is well."""
        operation = self._operation(method, template)
        if operation is None:
            return [f"{method} {template} is not in the OpenAPI document"]
        problems = self._query_problems(method, template, operation, query)
        content = operation.get("requestBody", {}).get("content", {})
        if body is None or "application/json" not in content:
            return problems
        name = self._exact_body(method, template, body)
        if name is not None:
            pointer = f"#/components/schemas/{name}"
            problems += self._unknown_keys(name, body)
        else:
            pointer = f"{_operation_pointer(method, template)}/requestBody/content/application~1json/schema"
        return problems + self._problems(pointer, _with_text_ids(body))

    def reply_problems(self, method: str, template: str, status: int, body: Any) -> list[str]:
        """Return what is wrong with one of the server's own successful replies."""
        operation = self._operation(method, template)
        if operation is None:
            return []
        replies = operation["responses"]
        if str(status) not in replies:
            return [f"{method} {template} never answers {status}"]
        if "application/json" not in replies[str(status)].get("content", {}):
            return [] if body is None else [f"{method} {template} answers {status} without a body"]
        pointer = (
            f"{_operation_pointer(method, template)}/responses/{status}/content/application~1json/schema"
        )
        return self._problems(pointer, body)

    def _operation(self, method: str, template: str) -> dict[str, Any] | None:
        found = self._document["paths"].get(template, {}).get(method.lower())
        return found if isinstance(found, dict) else None

    def _query_problems(
        self, method: str, template: str, operation: dict[str, Any], query: Mapping[str, str]
    ) -> list[str]:
        if not query:
            return []
        shared = self._document["paths"][template].get("parameters", [])
        known = {
            item["name"] for item in [*shared, *operation.get("parameters", [])] if item.get("in") == "query"
        }
        known |= _ALLOWED_QUERIES.get((method, template), set())
        return [f"unknown query parameter {name!r}" for name in query if name not in known]

    def _exact_body(self, method: str, template: str, body: Any) -> str | None:
        if (method, template) == _CALLBACK and isinstance(body, dict):
            return _CALLBACKS.get(body.get("type", 0))
        return _EXACT_BODIES.get((method, template))

    def _unknown_keys(self, name: str, body: Any) -> list[str]:
        known = self._document["components"]["schemas"][name].get("properties", {})
        known = {*known, *_ALLOWED_KEYS.get(name, ())}
        return [f"unknown key {key!r}" for key in body if key not in known] if isinstance(body, dict) else []

    def _problems(self, pointer: str, body: Any) -> list[str]:
        validator = self._validators.get(pointer)
        if validator is None:
            validator = Draft202012Validator({"$ref": f"{_URI}{pointer}"}, registry=self._registry)
            self._validators[pointer] = validator
        error = best_match(validator.iter_errors(body))
        if error is None:
            return []
        where = ".".join(str(part) for part in error.absolute_path) or "body"
        return [f"{where}: {error.message[:300]}"]


def _operation_pointer(method: str, template: str) -> str:
    return f"#/paths/{template.replace('~', '~0').replace('/', '~1')}/{method.lower()}".replace(
        "{", "%7B"
    ).replace("}", "%7D")


def _with_text_ids(body: Any, parent: str = "") -> Any:
    """Return a body with its ids as text: the client sends some as integers, which Discord takes as well."""
    if isinstance(body, list):
        return [_with_text_ids(item, parent) for item in body]
    if not isinstance(body, dict):
        return body
    return {key: _text_id(key, value, parent) for key, value in body.items()}


def _text_id(key: str, value: Any, parent: str) -> Any:
    named = key.endswith("_id") or (key == "id" and parent == "attachments")
    return str(value) if named and type(value) is int else _with_text_ids(value, key)
