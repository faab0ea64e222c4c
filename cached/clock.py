"""The one clock. Everything that decides by time asks it, so tests give it their own."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two readings of time."""

    def wall(self) -> float:
        """Seconds since 1970 UTC; may jump when the machine's clock is set."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary point; never goes back."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def wall(self) -> float:
        """See `Clock.wall`."""
        return time.time()

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return time.monotonic()
