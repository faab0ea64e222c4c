"""A lane: one thread that does its jobs one after the other, in the order they came."""

from __future__ import annotations

import os
import queue
import threading
import traceback
from collections.abc import Callable
from typing import NoReturn

from cached.transfer.protocol import Done, Failed

CRASHED = 70
"""Exit status of a worker whose own code failed (EX_SOFTWARE of sysexits.h)."""

Job = Callable[[], Done | Failed]


def crash() -> NoReturn:
    """End the whole process with the current exception's traceback. Its jobs are reissued by the control process;
    a worker that lost one of its threads would leave them unanswered for ever.
    """
    traceback.print_exc()
    os._exit(CRASHED)


def start_thread(name: str, target: Callable[[], None]) -> None:
    """Run `target` in a thread that takes the process down with it should it fail."""

    def guarded() -> None:
        try:
            target()
        except BaseException:  # noqa: BLE001  whatever it is, the process ends with it
            crash()

    threading.Thread(target=guarded, name=name, daemon=True).start()


class Lane:
    """See the module."""

    def __init__(self, name: str, answer: Callable[[Done | Failed], None]) -> None:
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._answer = answer
        start_thread(name, self._work)

    def put(self, job: Job) -> None:
        """Do `job` after those already put."""
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._answer(self._jobs.get()())
