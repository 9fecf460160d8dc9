"""Judges an answer of the model: cleaned, and whether it must be asked for once more."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.core import speech
from bot.core.chat import Completion, Sampling
from bot.core.prompt_parts import Prompt
from bot.core.repeats import ECHO, echo
from bot.core.speech import Voices
from bot.core.window import Roster
from bot.engine.state import ReplyRequest

RECENT_REPLIES = 6
EMPTY, REPEAT, REFUSAL, ECHOED = "empty", "repeated", "refused", "echoed"


@dataclass(frozen=True, slots=True)
class Made:
    """A cleaned answer of the model and what is wrong with it, if anything."""

    text: str
    complaint: str = ""
    truncated: bool = False
    start_id: int = 0
    echo: float = 0.0
    """The share of it that stands in the last replies too."""


def judge(request: ReplyRequest, voices: Voices, completion: Completion, prompt: Prompt) -> Made:
    """Clean the answer and say what is wrong with it, if anything."""
    text = speech.clean(completion.text, voices, truncated=completion.truncated, notes=prompt.notes)
    own = [turn.text for turn in request.window if turn.persona_id == request.persona.id][-RECENT_REPLIES:]
    share = echo(text, own)
    complaint = ""
    if not text:
        complaint = EMPTY
    elif speech.is_repeat(text, own):
        complaint = REPEAT
    elif share >= ECHO:
        complaint = ECHOED
    elif speech.is_refusal(text, request.persona.text("description")):
        complaint = REFUSAL
    return Made(text, complaint, completion.truncated, prompt.start_id, share)


def better(first: Made, second: Made) -> Made | None:
    """Of two answers, the second asked for because the first was complained of, the one to say; None when
    neither can be said."""
    if second.complaint not in {EMPTY, REPEAT, ECHOED}:
        return second
    if first.complaint == ECHOED and (second.complaint != ECHOED or first.echo <= second.echo):
        return first  # much of it was said before, but not all
    return second if second.complaint == ECHOED else None


def voices_of(request: ReplyRequest, roster: Roster) -> Voices:
    """Return who may be heard in the answer: everybody who is named in the prompt, under every name."""
    names = {*roster.members, *(alias.name for alias in request.aliases.values())}
    names |= {turn.speaker for turn in request.window if turn.persona_id is None}
    return speech.voices(request.persona, request.cast, sorted(names))


def livelier(sampling: Sampling) -> Sampling:
    """Change the sampling for a second try, so that it does not end in the same words."""
    return replace(sampling, temperature=min(1.2, (sampling.temperature or 0.8) + 0.3), presence_penalty=0.6)
