"""Background answers for the cases: notes with facts and feelings over the numbered turns of a request."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.discord_server import Channel, ScriptedUser
from tests.e2e.bot_process import Table, eventually
from tests.model_server import RecordedRequest

SCORES = [7, 6, 1, 2, 1, 1, 1, 5]


def numbered(request: RecordedRequest) -> list[tuple[int, str]]:
    """The turns that a background request shows."""
    shown = re.findall(r"^\[(\d+)\] (.*)$", request.messages[-1][1], re.MULTILINE)
    return [(int(number), text) for number, text in shown]


def notes_over(
    request: RecordedRequest, word: str = "", text: str = "They talk by the fire.", **more: Any
) -> dict[str, Any]:
    """A whole answer: one line and one fact from the turns that hold the word, feelings for each turn."""
    turns = numbered(request)
    sources = [number for number, said in turns if word in said][:2] or [turns[-1][0]]
    return {
        "keep": [1, 2, 3],
        "lines": [{"section": "threads", "text": text, "turns": sources}],
        "facts": [{"about": "Anna", "kind": "person", "text": text, "turns": sources}],
        "triggers": [],
        "emotions": [{"turn": number, "scores": SCORES} for number, _ in turns],
        **more,
    }


def notes_json(request: RecordedRequest, word: str = "", text: str = "They talk by the fire.") -> str:
    """The same as a model would write it at its best."""
    return json.dumps(notes_over(request, word, text), ensure_ascii=False)


async def fill(
    who: ScriptedUser, channel: Channel, count: int = 10, text: str = "A small thing, number"
) -> None:
    """Lines that ask for no answer, enough for the notes to be rewritten."""
    for number in range(count):
        await who.say(channel, f"{text} {number}.")


async def noted(table: Table, channel: Channel, text: str) -> None:
    """Wait until the notes of the channel's scene hold this."""
    query = (
        "SELECT 1 FROM scratchpad_lines AS line JOIN scratchpad_revisions AS revision ON revision.id = "
        "line.revision_id JOIN scenes ON scenes.id = revision.scene_id "
        "WHERE place_id = ? AND line.text LIKE ?"
    )
    await eventually(lambda: table.stage.stored(query, channel.id, f"%{text}%"), f"the note: {text}")
