"""A circuit breaker: what failed some times in a row is left alone for a while, then tried by one call."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """It opens after `failures` in a row, or after one that took `slow` seconds: who would wait thrice?

    It stays open for `first_wait` seconds and after each trial that fails twice as long, at most
    `longest_wait`.
    """

    failures: int = 3
    slow: float = 20.0
    first_wait: float = 15.0
    longest_wait: float = 600.0


@dataclass(slots=True)
class Breaker:
    """The state of one thing. All times are seconds of one clock, given by the caller."""

    rules: BreakerRules = field(default_factory=BreakerRules)
    failures: int = 0
    """In a row."""
    opened: bool = False
    next_trial: float = 0.0
    """When it may be tried, while open."""
    _wait: float = 0.0
    _on_trial: bool = False

    def may_be_tried(self, now: float) -> bool:
        """Whether it is open, has rested long enough, and nobody tries it."""
        return self.opened and not self._on_trial and now >= self.next_trial

    def begin_trial(self) -> None:
        """One call tries it now; until that ends, nobody else does."""
        self._on_trial = True

    def end_trial(self) -> None:
        """The trial ended without teaching anything."""
        self._on_trial = False

    def succeeded(self) -> bool:
        """It works. True when it was open until now."""
        was_open = self.opened
        self.failures, self.opened, self._wait, self._on_trial = 0, False, 0.0, False
        return was_open

    def failed(self, now: float, *, took: float = 0.0, for_long: bool = False) -> bool:
        """It failed after `took` seconds, `for_long` when a little rest is no use. True when it opens now."""
        self.failures += 1
        was_open, rules = self.opened, self.rules
        self._on_trial = False
        if not (was_open or for_long or took >= rules.slow or self.failures >= rules.failures):
            return False
        if not was_open or now >= self.next_trial:  # calls that began before it opened teach nothing new
            doubled = self._wait * 2 or rules.first_wait
            self._wait = rules.longest_wait if for_long else min(rules.longest_wait, doubled)
            self.next_trial = now + self._wait
        self.opened = True
        return not was_open
