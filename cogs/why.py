"""Why a reply came out so, as one readable page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bot.core.mood import describe
from bot.core.types import Memory
from bot.core.voice import Drift
from cogs.answers import shorten
from cogs.memory_views import with_speaker

if TYPE_CHECKING:
    from bot.engine.explaining import ToldMemory, Why

MOST_SHOWN = 12
WORTH_TELLING = 0.2
"""Share of a reply that must stand in the last ones to be told."""
_PARTS = {
    "card": "character",
    "system": "scene and rules",
    "standing": "always in mind",
    "scratchpad": "notes",
    "window": "last turns",
    "notes": "mood and names",
    "recalled": "memories",
    "turns": "turns answered",
}


def page(why: Why, *, may_see: Callable[[Memory], bool], lore: Sequence[tuple[str, str]] = ()) -> str:
    """The page. Memories that the asker may not see are counted, not shown; so is lore that is not given
    (each with its name and the key that made it fire)."""
    body = why.body
    asked = " / ".join(shorten(f"{turn.speaker}: {turn.text}", 150) for turn in why.answered)
    lines = [f"**Why {why.turn.speaker} said “{shorten(why.turn.text, 80)}”**"]
    lines += [f"Answering: {asked}"] if asked else []
    lines.append(_feeling(why))
    lines += _voice(body)
    lines += _memories("Remembered", why.recalled, may_see)
    if why.aside is not None:
        shown = with_speaker(why.aside, 150) if may_see(why.aside) else "somebody else's memory"
        lines.append(f"**Came to mind by itself**: {shown}")
    lines += _memories("Found, but left out for lack of room", why.left_out[:5], may_see)
    lines += _lore(body.get("lore"), lore)
    lines += _model(body)
    lines += _cost(body)
    return "\n".join(lines)


def _feeling(why: Why) -> str:
    body, own = why.body, why.body.get("own", [])
    heard = f"; heard in the words: {describe(body['heard'])}" if body.get("heard") else ""
    cause = f", after {shorten(f'{why.cause.speaker}: {why.cause.text}', 120)}" if why.cause else ""
    strategy = body["strategy"] + (" (its own)" if "strategy" in own else "")
    weight = f", weight of feeling {body['weight']:g}" if "weight" in body else ""
    weight += " (its own)" if "weight" in own else ""
    return f"**Mood**: {describe(body['mood'])}{cause}{heard}. Recall: {strategy}{weight}."


def _voice(body: Mapping[str, Any]) -> list[str]:
    """What the guards of its voice noticed."""
    known = {way.name: way.value for way in Drift}
    ways = [known[name] for name in body.get("drift", ()) if name in known]
    lines = [f"**Voice**: its last replies had left its samples ({'; '.join(ways)}); the prompt said so."]
    lines = lines if ways else []
    if (share := body.get("echo", 0.0)) >= WORTH_TELLING:
        lines.append(f"**Repeats**: {share:.0%} of it stands in its last replies too.")
    return lines


def _lore(told: object, named: Sequence[tuple[str, str]]) -> list[str]:
    count = len(told) if isinstance(told, list) else told
    if not isinstance(count, int) or not count:
        return []
    shown = named[:MOST_SHOWN]
    lines = [f"**Lore told** ({count})"]
    lines += [
        f"- {shorten(title, 60)}: {f'“{shorten(key, 60)}” was said' if key else 'always'}"
        for title, key in shown
    ]
    if missing := count - len(shown):
        what = "more" if shown else "entry" if missing == 1 else "entries"
        lines.append(f"- {missing} {what} (`/lore explain` shows which and why)")
    return lines


def _memories(title: str, told: tuple[ToldMemory, ...], may_see: Callable[[Memory], bool]) -> list[str]:
    if not told:
        return []
    lines = [f"**{title}** ({len(told)})"]
    lines += [_memory(one, may_see) for one in told[:MOST_SHOWN]]
    if len(told) > MOST_SHOWN:
        lines.append(f"… and {len(told) - MOST_SHOWN} more")
    return lines


def _memory(one: ToldMemory, may_see: Callable[[Memory], bool]) -> str:
    numbers = one.numbers
    if one.memory is None:
        text = "*forgotten since*"
    else:
        text = with_speaker(one.memory, 120) if may_see(one.memory) else "*somebody else's*"
    used = " ✓ used" if one.taken else ""
    measured = [f"finding {numbers['finding']:.2f}", f"score {numbers['score']:+.2f}"]
    if numbers.get("d_sem") is not None:
        measured.append(f"d_sem {numbers['d_sem']:.2f}")
    if numbers.get("d_emo") is not None:
        measured.append(f"d_emo {numbers['d_emo']:.2f}")
    measured.append(f"w {numbers['weight']:.2f}")
    return f"`{numbers['id']}`{used} {text}\n-# {' · '.join(measured)}"


def _model(body: Mapping[str, Any]) -> list[str]:
    if not body.get("model"):
        return []
    instead = f", because {body['instead_of']} was down" if body.get("instead_of") else ""
    return [f"**Model**: {body['model']}{instead}."]


def _cost(body: Mapping[str, Any]) -> list[str]:
    parts: Mapping[str, int] = body.get("parts", {})
    spent = ", ".join(f"{_PARTS.get(part, part)} {tokens}" for part, tokens in parts.items() if tokens)
    lines = [f"**Tokens** ({sum(parts.values())}): {spent}"] if parts else []
    if body.get("answer_tokens"):
        lines.append(f"The answer took {body['answer_tokens']} tokens.")
    times: Mapping[str, float] = body.get("milliseconds", {})
    if times:
        lines.append("**Milliseconds**: " + ", ".join(f"{part} {ms:.0f}" for part, ms in times.items()))
    if body.get("no_room"):
        lines.append("**No room for**: " + ", ".join(body["no_room"]))
    if body.get("complaint"):
        lines.append(f"The first answer was {body['complaint']}, so it was asked for once more.")
    return lines
