"""How fast bytes come and when the rest will be here. Pure: the caller brings the time."""

from __future__ import annotations

from collections import deque

WINDOW = 15.0
"""Seconds that a rate is taken over: long enough to be calm, short enough to show a stall."""


class Pace:
    """A rate over the last `WINDOW` seconds."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, int]] = deque()

    def add(self, now: float, count: int) -> None:
        """`count` bytes had come by `now`. A count that falls (a download begun anew) starts over."""
        if self._points and count < self._points[-1][1]:
            self._points.clear()
        self._points.append((now, count))
        while len(self._points) > 2 and self._points[1][0] <= now - WINDOW:
            self._points.popleft()

    def rate(self, now: float) -> float:
        """Bytes a second; 0 while nothing is known."""
        if not self._points:
            return 0.0
        (since, before), (_, after) = self._points[0], self._points[-1]
        return (after - before) / (now - since) if now > since else 0.0

    def eta(self, now: float, left: int) -> float | None:
        """Seconds until `left` more bytes are here; None while that is anybody's guess."""
        rate = self.rate(now)
        return left / rate if rate >= 1 else None
