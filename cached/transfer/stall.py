"""When a connection is too slow to keep. Pure: it is told of waits and bytes and asks no clock.

Only time spent waiting for the network counts. A worker that waits for its disk reads nothing meanwhile, and
the server is not to blame.
"""

from __future__ import annotations

from collections import deque

SLICES = 16
"""The window moves on in steps of a sixteenth, so a stall is noticed at most that much late."""


class StallWatch:
    """Bytes received over the last `window` seconds of waiting, against a floor of `floor` bytes a second."""

    def __init__(self, *, window: float, floor: int) -> None:
        self._slice = window / SLICES
        self._least = floor * window
        self._past: deque[int] = deque(maxlen=SLICES)
        self._waited = 0.0
        self._received = 0

    def note(self, *, waited: float, received: int) -> bool:
        """Count one wait of `waited` seconds that brought `received` bytes. True: under the floor for a whole
        window, give the connection up.
        """
        self._waited += waited
        self._received += received
        if self._waited < self._slice:
            return False
        slices = min(SLICES, int(self._waited / self._slice))
        self._past.extend([0] * (slices - 1))
        self._past.append(self._received)
        self._waited = 0.0
        self._received = 0
        return len(self._past) == SLICES and sum(self._past) < self._least
