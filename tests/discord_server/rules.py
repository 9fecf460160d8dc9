"""Limits that Discord's OpenAPI document does not state, as checks that refuse with 400/50035."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import ApiError, empty_message, invalid_form
from .models import COMPONENTS_V2_FLAG, walk_components

CONTENT, EMBEDS, EMBED_TOTAL, FILES, NONCE = 2000, 10, 6000, 10, 25
FILE_BYTES = 10 * 1024 * 1024
_EMBED_PARTS = {"title": 256, "description": 4096}
_SELECTS = frozenset({3, 5, 6, 7, 8})


def check_message(
    body: dict[str, Any], *, files: Sequence[Any] = (), empty_ok: bool = False, known_flags: int = 0
) -> None:
    """Check a message body before it is created or edited. Raises ApiError."""
    problems: dict[str, str] = {}
    flags = int(body.get("flags") or 0) | known_flags
    content = body.get("content") or ""
    embeds = body.get("embeds") or []
    components = body.get("components") or []
    if len(content) > CONTENT:
        problems["content"] = f"Must be {CONTENT} or fewer in length."
    if len(embeds) > EMBEDS:
        problems["embeds"] = f"Must be {EMBEDS} or fewer in length."
    _check_embeds(embeds, problems)
    if flags & COMPONENTS_V2_FLAG:
        if content or embeds or body.get("poll") or body.get("sticker_ids"):
            problems["flags"] = "Components v2 allow no content, embeds, polls or stickers."
        if len(walk_components(components)) > 40:
            problems["components"] = "Must be 40 or fewer in total."
        shown = sum(
            len(item.get("content", "")) for item in walk_components(components) if item["type"] == 10
        )
        if shown > 4000:
            problems["components"] = "Text displays must be 4000 or fewer in total."
    else:
        _check_rows(components, problems)
    _check_components(components, problems)
    _check_allowed_mentions(body.get("allowed_mentions"), problems)
    if len(files) > FILES:
        problems["attachments"] = f"Must be {FILES} or fewer in length."
    if len(str(body.get("nonce") or "")) > NONCE:
        problems["nonce"] = f"Must be {NONCE} or fewer in length."
    if problems:
        raise invalid_form(problems)
    if any(len(item.content) > FILE_BYTES for item in files):
        raise ApiError(413, 40005, "Request entity too large", rule=True)
    shows = content.strip() or embeds or components or files or body.get("sticker_ids") or body.get("poll")
    if not (shows or empty_ok or body.get("message_reference", {}).get("type") == 1):
        raise empty_message()


def _check_embeds(embeds: list[dict[str, Any]], problems: dict[str, str]) -> None:
    total = 0
    for index, embed in enumerate(embeds):
        where = f"embeds.{index}"
        for part, limit in _EMBED_PARTS.items():
            text = (embed.get(part) or "").strip()
            total += len(text)
            if len(text) > limit:
                problems[f"{where}.{part}"] = f"Must be {limit} or fewer in length."
        for part, key, limit in (("footer", "text", 2048), ("author", "name", 256)):
            text = ((embed.get(part) or {}).get(key) or "").strip()
            total += len(text)
            if len(text) > limit:
                problems[f"{where}.{part}.{key}"] = f"Must be {limit} or fewer in length."
        fields = embed.get("fields") or []
        if len(fields) > 25:
            problems[f"{where}.fields"] = "Must be 25 or fewer in length."
        for number, item in enumerate(fields):
            for key, limit in (("name", 256), ("value", 1024)):
                text = str(item.get(key) or "").strip()
                total += len(text)
                if not 1 <= len(text) <= limit:
                    problems[f"{where}.fields.{number}.{key}"] = f"Must be between 1 and {limit} in length."
        if not any(
            embed.get(key)
            for key in ("title", "description", "fields", "footer", "author", "image", "thumbnail")
        ):
            problems[where] = "An embed must show something."
    if total > EMBED_TOTAL:
        problems["embeds"] = f"Embed size exceeds maximum size of {EMBED_TOTAL}"


def _check_rows(components: list[dict[str, Any]], problems: dict[str, str]) -> None:
    if len(components) > 5:
        problems["components"] = "Must be between 1 and 5 in length."
    for index, row in enumerate(components):
        where = f"components.{index}"
        if row.get("type") != 1:
            problems[where] = "The top level of legacy components holds action rows only."
            continue
        items = row.get("components") or []
        selects = [item for item in items if item["type"] in _SELECTS]
        if not 1 <= len(items) <= 5 or (selects and len(items) > 1):
            problems[where] = "A row holds 1 to 5 buttons or one select."


def _check_components(components: list[dict[str, Any]], problems: dict[str, str]) -> None:
    seen: set[str] = set()
    for index, item in enumerate(walk_components(components)):
        where = f"components.{index}"
        custom_id = item.get("custom_id")
        if custom_id is not None:
            if not 1 <= len(custom_id) <= 100:
                problems[f"{where}.custom_id"] = "Must be between 1 and 100 in length."
            if custom_id in seen:
                problems[f"{where}.custom_id"] = "Component custom id cannot be duplicated"
            seen.add(custom_id)
        if item["type"] == 2:
            _check_button(item, where, problems)
        if item["type"] == 3:
            _check_options(item, where, problems)


def _check_button(button: dict[str, Any], where: str, problems: dict[str, str]) -> None:
    label = button.get("label") or ""
    if len(label) > 80:
        problems[f"{where}.label"] = "Must be 80 or fewer in length."
    if not label and not button.get("emoji"):
        problems[where] = "A button needs a label or an emoji."
    if button.get("style") == 5:
        if not button.get("url") or len(button["url"]) > 512 or button.get("custom_id"):
            problems[where] = "A link button has a url up to 512 characters and no custom_id."
    elif not button.get("custom_id"):
        problems[where] = "A button needs a custom_id."


def _check_options(select: dict[str, Any], where: str, problems: dict[str, str]) -> None:
    options = select.get("options") or []
    if not 1 <= len(options) <= 25:
        problems[f"{where}.options"] = "Must be between 1 and 25 in length."
    for option in options:
        lengths = (
            len(option.get("label", "")),
            len(option.get("value", "")),
            len(option.get("description") or ""),
        )
        if not (1 <= lengths[0] <= 100 and 1 <= lengths[1] <= 100 and lengths[2] <= 100):
            problems[f"{where}.options"] = "Label, value and description have 1 to 100 characters."
    if len({option.get("value") for option in options}) < len(options):
        problems[f"{where}.options"] = "The specified option value is already used"


def _check_allowed_mentions(allowed: dict[str, Any] | None, problems: dict[str, str]) -> None:
    for kind in ("users", "roles"):
        listed = (allowed or {}).get(kind) or []
        if len(listed) > 100:
            problems[f"allowed_mentions.{kind}"] = "Must be 100 or fewer in length."
        if listed and kind in ((allowed or {}).get("parse") or []):
            problems["allowed_mentions.parse"] = (
                f"parse:[{kind!r}] and {kind}: [ids...] are mutually exclusive."
            )


def check_webhook_name(name: Any, field: str = "name") -> None:
    """Check the name of a webhook or the username of its message. Raises ApiError."""
    trimmed = str(name or "").strip()
    if not 1 <= len(trimmed) <= 80:
        raise invalid_form({field: "Must be between 1 and 80 in length."})
    for word in ("clyde", "discord"):
        if word in trimmed.lower():
            raise invalid_form({field: f'Username cannot contain "{word}"'})


def check_avatar_url(url: Any) -> None:
    """Check the avatar address of a webhook message. Raises ApiError."""
    if url is not None and (not str(url).startswith(("http://", "https://")) or len(str(url)) > 2048):
        raise invalid_form({"avatar_url": "Must be an http address of at most 2048 characters."})


def check_thread_name(name: Any) -> None:
    """Check the name of a thread or forum post. Raises ApiError."""
    if not 1 <= len(str(name or "").strip()) <= 100:
        raise invalid_form({"name": "Must be between 1 and 100 in length."})


def check_choices(choices: list[dict[str, Any]]) -> None:
    """Check autocomplete choices. Raises ApiError."""
    problems: dict[str, str] = {}
    if len(choices) > 25:
        problems["choices"] = "Must be 25 or fewer in length."
    for index, choice in enumerate(choices):
        if not 1 <= len(str(choice.get("name", ""))) <= 100:
            problems[f"choices.{index}.name"] = "Must be between 1 and 100 in length."
        if isinstance(choice.get("value"), str) and not 1 <= len(choice["value"]) <= 100:
            problems[f"choices.{index}.value"] = "Must be between 1 and 100 in length."
    if problems:
        raise invalid_form(problems)


def check_modal(modal: dict[str, Any]) -> None:
    """Check the definition of a modal. Raises ApiError."""
    problems: dict[str, str] = {}
    components = modal.get("components") or []
    if not 1 <= len(str(modal.get("title") or "")) <= 45:
        problems["title"] = "Must be between 1 and 45 in length."
    if not 1 <= len(str(modal.get("custom_id") or "")) <= 100:
        problems["custom_id"] = "Must be between 1 and 100 in length."
    if not 1 <= len(components) <= 5:
        problems["components"] = "Must be between 1 and 5 in length."
    _check_components(components, problems)
    for index, item in enumerate(walk_components(components)):
        where = f"components.{index}"
        if item["type"] == 18:
            if not 1 <= len(item.get("label") or "") <= 45 or len(item.get("description") or "") > 100:
                problems[where] = "A label has 1 to 45 characters, its description up to 100."
        elif item["type"] == 4:
            _check_text_input(item, where, problems)
    if problems:
        raise invalid_form(problems)


def _check_text_input(item: dict[str, Any], where: str, problems: dict[str, str]) -> None:
    limits = (item.get("min_length") or 0, item.get("max_length") or 4000)
    if not 0 <= limits[0] <= 4000 or not 1 <= limits[1] <= 4000 or limits[0] > limits[1]:
        problems[f"{where}.max_length"] = "Must be between 1 and 4000."
    if len(item.get("placeholder") or "") > 100:
        problems[f"{where}.placeholder"] = "Must be 100 or fewer in length."
    if len(item.get("value") or "") > limits[1]:
        problems[f"{where}.value"] = f"Must be {limits[1]} or fewer in length."
    if len(item.get("label") or "") > 45:
        problems[f"{where}.label"] = "Must be 45 or fewer in length."
