"""One call to a model in progress: what is asked, what a refusal teaches, when to ask again."""

from __future__ import annotations

from dataclasses import dataclass

from bot.adapters.chat_answer import Answer
from bot.adapters.chat_failures import Failure, Trouble
from bot.adapters.chat_quirks import Body, Quirks, guesses, learn
from bot.adapters.chat_request import Request
from bot.core.chat import OnText

_MOST_LESSONS = 8  # adaptations in one call


@dataclass(frozen=True, slots=True)
class Retries:
    """Busy servers are asked again `count` times, after 1, 2, 4, ... times `first_wait` seconds or what
    they ask for. One that asks for more than `longest_wait` is not waited for; one that kept silent is
    asked again only with `after_silence`.
    """

    count: int = 2
    first_wait: float = 1.0
    longest_wait: float = 20.0
    after_silence: bool = True

    def wait(self, failure: Failure, done: int) -> float | None:
        """Return the seconds to wait before the next attempt, or None to give up."""
        if not failure.retried or done >= self.count:
            return None
        if failure.trouble is Trouble.TIMEOUT and not self.after_silence:
            return None
        wait = failure.retry_after if failure.retry_after is not None else self.first_wait * 2**done
        return wait if wait <= self.longest_wait else None


DEFAULT_RETRIES = Retries()
IMPATIENT_RETRIES = Retries(count=1, longest_wait=5.0, after_silence=False)
"""For a model that others stand behind."""


@dataclass(slots=True)
class Call:
    """One `complete` in progress: what is asked, what was learned, what was shown."""

    request: Request
    purpose: str
    on_text: OnText | None
    before: Quirks
    quirks: Quirks
    shown: bool = False
    answer: Answer | None = None
    lessons: int = 0
    guesses: list[Quirks] | None = None

    def show(self, text: str) -> bool:
        """Hand a visible piece to the caller; False when it wants no more."""
        if not text or self.on_text is None:
            return True
        self.shown = True
        return self.on_text(text)

    def adapt(self, failure: Failure, body: Body) -> bool:
        """Change the request after a refusal; False when there is nothing left to try."""
        if failure.final or failure.trouble is not Trouble.STATUS or self.lessons >= _MOST_LESSONS:
            return False
        learned = learn(failure.text, failure.status, self.quirks, body)
        if learned is None:
            if self.guesses is None:
                self.guesses = list(guesses(failure.status, self.quirks, body))
            learned = self.guesses.pop(0) if self.guesses else None
        if learned is None:
            return False
        self.lessons += 1
        self.quirks = learned
        return True
