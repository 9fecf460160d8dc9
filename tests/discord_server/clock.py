"""Time and ids of the loopback Discord: a clock that tests can hurry, and snowflakes."""

from __future__ import annotations

import time
from datetime import UTC, datetime

DISCORD_EPOCH_MS = 1_420_070_400_000


class Clock:
    """Measures the platform's deadlines. With `factor` 10 a limit of 3 s is reached after 0.3 s."""

    def __init__(self, *, factor: float = 1.0) -> None:
        """Start at the machine's time."""
        self.factor = factor
        self._offset = 0.0

    def seconds(self) -> float:
        """Return a monotonic time in the platform's seconds, for deadlines."""
        return time.monotonic() * self.factor + self._offset

    def wall(self) -> datetime:
        """Return the aware UTC time that message timestamps and ids are made of."""
        return datetime.fromtimestamp(time.time() + self._offset, UTC)

    def advance(self, seconds: float) -> None:
        """Move both clocks forward at once, as if so much time had passed."""
        self._offset += seconds

    def real_seconds(self, seconds: float) -> float:
        """Return how long a platform duration lasts on the machine's clock."""
        return seconds / self.factor


class Snowflakes:
    """Makes unique ids that carry their creation time, rising unless a past time is asked for."""

    def __init__(self, clock: Clock) -> None:
        """Take the times from `clock`."""
        self._clock = clock
        self._last = 0
        self._increment = 0

    def next(self, at: datetime | None = None) -> int:
        """Return a new id of now, or of the past moment `at`."""
        if at is None:
            candidate = self._pack(self._clock.wall())
            self._last = max(candidate, self._last + 1)
            return self._last
        self._increment = (self._increment + 1) % (1 << 22)
        return self._pack(at) + self._increment

    @staticmethod
    def _pack(moment: datetime) -> int:
        return (int(moment.timestamp() * 1000) - DISCORD_EPOCH_MS) << 22


def moment_of(snowflake: int) -> datetime:
    """Return when an id was made."""
    return datetime.fromtimestamp(((snowflake >> 22) + DISCORD_EPOCH_MS) / 1000, UTC)


def iso(moment: datetime) -> str:
    """Return the text form that Discord gives times in."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
