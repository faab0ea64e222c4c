"""Each change of a state, told once: an event in the log, a count for the metrics, a failpoint for the tests.

The one door for all three, so that none of them can be forgotten. Names are stable and past tense; docs/operations.md
has the list.
"""

from __future__ import annotations

import threading
from collections import Counter

import structlog

from cached import failpoints

log = structlog.get_logger("cached.store")


class Transitions:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def record(self, transition: str, **fields: object) -> None:
        """It has happened: `transition` is `<thing>_<past tense>`, such as tree_condemned."""
        with self._lock:
            self._counts[transition] += 1
        log.info(transition, **fields)
        failpoints.hit(f"transition.{transition}")

    @property
    def counts(self) -> dict[str, int]:
        """How often each has happened since the start."""
        with self._lock:
            return dict(self._counts)
