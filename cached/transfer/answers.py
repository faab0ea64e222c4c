"""A worker's voice: answers, and progress in between, as whole lines on one pipe.

Lanes only add to plain counters; a thread of its own looks at them at most every 200 ms, and sleeps while no
fetch runs.
"""

from __future__ import annotations

import os
import threading
import time

from cached.transfer import protocol
from cached.transfer.protocol import Answer, Closed, Done, Failed, Moved

PERIOD = 0.2
"""Seconds between two Moved messages."""


class Progress:
    """Bytes that one job has received; written by its lane, read by the teller."""

    __slots__ = ("received", "told")

    def __init__(self) -> None:
        self.received = 0
        self.told = 0


class Answers:
    """Everything that leaves the worker goes through here."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._running: dict[int, Progress] = {}
        self._busy = threading.Event()

    def begin(self, job: int) -> Progress:
        """Progress of `job` is told from now on, until it is answered."""
        progress = Progress()
        with self._lock:
            self._running[job] = progress
            self._busy.set()
        return progress

    def answer(self, message: Done | Failed | Closed) -> None:
        """Say how a job ended. No Moved of that job comes after. Raises OSError when nobody listens any more."""
        with self._lock:
            self._running.pop(message.job, None)
            self._say(message)

    def tell_for_ever(self) -> None:
        """What the teller's thread does."""
        while True:
            self._busy.wait()
            self._tell()
            time.sleep(PERIOD)

    def _tell(self) -> None:
        with self._lock:
            moved: list[tuple[int, int]] = []
            for job, progress in self._running.items():
                count = progress.received - progress.told
                if count:
                    progress.told += count
                    moved.append((job, count))
            if moved:
                self._say(Moved(jobs=tuple(moved)))
            if not self._running:
                self._busy.clear()

    def _say(self, message: Answer) -> None:
        line = memoryview(protocol.encode(message))
        while line:
            line = line[os.write(self._descriptor, line) :]
