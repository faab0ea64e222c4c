"""What the tasks of the scheduler share: the files on their way, the workers, and a bell. No decisions of its own."""

from __future__ import annotations

import asyncio
from collections import Counter

from cached.clock import Clock
from cached.config import Config
from cached.transfer.filestate import FileState
from cached.transfer.pool import Pool, Worker
from cached.transfer.protocol import Open


class Board:
    """Whoever changes a file settles it and rings; whoever finds nothing to do waits for the bell."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self.config = config
        self.clock = clock
        self.files: dict[int, FileState] = {}
        self.owners: dict[int, FileState] = {}
        """The file of each fetch that a worker is at, by job."""
        self.pool = Pool(config, on_moved=self._moved)
        self.faults: Counter[str] = Counter()
        self.parts_done = 0
        self.stopping = False
        self.window_filling = asyncio.Event()
        self._bell = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Board files={list(self.files.values())} stopping={self.stopping}>"

    def ring(self) -> None:
        """Something changed: every waiting task looks again."""
        self._bell.set()
        self._bell = asyncio.Event()

    async def wait(self, seconds: float | None = None) -> None:
        bell = self._bell
        try:
            async with asyncio.timeout(seconds):
                await bell.wait()
        except TimeoutError:
            return

    def settle(self, state: FileState) -> None:
        """After every change: begin anew where that was decided, and notice the end."""
        if state.over:
            return
        lost = state.digest_worker
        if lost is not None and lost.process.returncode is not None and not state.feeding:
            state.unfeed()
        if state.restart and not state.in_flight and not state.feeding:
            state.wipe()
        if state.digest_worker is None and state.pieces.prefix and not state.feeding:
            state.digest_worker = next(filter(None, map(self.pool.worker, range(self.config.transfer.workers))), None)
        if state.whole and not state.unchecked:
            state.finished.set_result(None)

    def fills_window(self, state: FileState) -> bool:
        """Half of it: the other half is for what arrives while the first is made durable."""
        return state.unjournaled_bytes * 2 >= self.config.transfer.window

    def _moved(self, job: int, count: int) -> None:
        state = self.owners.get(job)
        if state is not None:
            state.moved(job, count)
            state.moved_at = self.clock.monotonic()


def open_in(state: FileState, worker: Worker, *, reset: bool) -> None:
    """Open the file in `worker` if it is not, or again to `reset` its running digests. Raises WorkerLostError."""
    if worker in state.opened and not reset:
        return
    state.opened.add(worker)
    digests = ("sha256", "md5") if state.entry.md5 else ("sha256",)
    worker.tell(
        Open(
            file=state.number,
            path=str(state.job.ingest.path),
            size=state.entry.size,
            digests=digests if worker is state.digest_worker else (),
        )
    )
