"""The control side of payload, as the engine sees it: `fetch` one file, and the tasks that make it happen.

One task a lane (`payload_lane`, `hash_lane`), one for durability and patience (`windows`), one a worker (`pool`); they
share a `board`. Decisions live in `filestate`, `retry` and `proof`; bytes move in the workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Coroutine, Mapping
from typing import cast

from cached.clock import Clock
from cached.config import Config
from cached.sources.base import Entry
from cached.transfer.board import Board
from cached.transfer.filestate import FileJob, FileState
from cached.transfer.finish import Fetched, finish, release
from cached.transfer.hash_lane import HashLane
from cached.transfer.payload_lane import PayloadLane
from cached.transfer.pieces import Pieces, Range
from cached.transfer.pool import HASH_LANES, WorkerLostError
from cached.transfer.protocol import Checksum, Drop
from cached.transfer.windows import Windows

STOP_GRACE = 5.0
"""Seconds that parts in flight get at a stop."""


class Scheduler:
    """Fetches files for the engine. Its `tasks` must be running for `fetch` to get anywhere."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self._config = config
        self._board = Board(config, clock)
        self._windows = Windows(self._board)
        self._numbers = itertools.count(1)

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """Process ids of the workers that run."""
        return self._board.pool.pids

    @property
    def worker_restarts(self) -> int:
        """Workers that died and were replaced."""
        return self._board.pool.restarts

    @property
    def faults(self) -> Mapping[str, int]:
        """Jobs that failed, by fault."""
        return self._board.faults

    @property
    def parts_done(self) -> int:
        """Requests that brought all they asked for."""
        return self._board.parts_done

    async def fetch(self, job: FileJob) -> Fetched:
        """Fetch the bytes of `job.entry` into its ingest and prove them.

        What an earlier run left in the ingest is checked and kept. Raises CachedError: SourceChanged (resolve
        again), Corrupt (drop the generation), Retryable (what arrived is kept), Permanent. On return and on
        any raise no lane works on the file any more.
        """
        state = self._begin(job)
        try:
            return await self._whole(state)
        finally:
            state.finished.cancel()
            await _to_its_end(self._leave(state))

    async def _whole(self, state: FileState) -> Fetched:
        while True:
            await state.finished
            try:
                return await finish(state, self._board.pool)
            except WorkerLostError:
                state.reopen()
                self._board.settle(state)
                self._board.ring()

    def _begin(self, job: FileJob) -> FileState:
        part = self._config.transfer.part
        entry = job.entry
        state = FileState(
            number=next(self._numbers),
            job=job,
            hash_lag=self._config.transfer.hash_lag,
            entry=entry,
            checksum_algorithm=_algorithm(entry),
            pieces=Pieces(entry.size, part if entry.ranges else max(entry.size, 1)),
            finished=asyncio.get_running_loop().create_future(),
            ranges=entry.ranges,
            moved_at=self._board.clock.monotonic(),
        )
        if entry.ranges:
            # Of two records of one range the last counts.
            noted = {Range(each.offset, each.length): each for each in job.ingest.parts}
            state.unchecked = [noted[each] for each in state.pieces.adopt(noted)]
        self._board.files[state.number] = state
        self._board.settle(state)
        self._board.ring()
        return state

    async def _leave(self, state: FileState) -> None:
        try:
            await self._quiet(state)
        finally:
            del self._board.files[state.number]

    async def _quiet(self, state: FileState) -> None:
        """Wait until no lane works on the file; make what arrived durable, for a later resume; close it."""
        if not state.whole:
            _drop(state)
        while state.in_flight or state.feeding:
            await self._board.wait()
        if not state.whole:
            await self._windows.journal(state)
        async with state.journaling:
            await release(state, self._board.pool)

    def tasks(self) -> list[tuple[str, Coroutine[None, None, None]]]:
        """The long-lived tasks, by name, for the engine to guard."""
        workers = range(self._config.transfer.workers)
        lanes = range(self._config.transfer.connections)
        return [
            *((f"worker-{n}", self._board.pool.keep(n)) for n in workers),
            *((f"lane-{n}.{lane}", PayloadLane(self._board, n, lane).run()) for n in workers for lane in lanes),
            *(
                (f"hash-{n}.{lane}", HashLane(self._board, n, lane).run())
                for n in workers
                for lane in range(HASH_LANES)
            ),
            ("windows", self._windows.run()),
        ]

    async def stop(self) -> None:
        """Give out no more work; let parts in flight end for 5 s; make what arrived durable; end the workers."""
        self._board.stopping = True
        deadline = self._board.clock.monotonic() + STOP_GRACE
        while any(state.in_flight for state in self._board.files.values()) and self._board.clock.monotonic() < deadline:
            await self._board.wait(0.05)
        await asyncio.gather(*(self._windows.journal(state) for state in self._board.files.values()))
        await self._board.pool.stop()


def _algorithm(entry: Entry) -> Checksum | None:
    return cast(Checksum, entry.checksum[0]) if entry.checksum else None


async def _to_its_end(work: Coroutine[None, None, None]) -> None:
    """Await `work` also when the caller is cancelled meanwhile, however often: a file that is given up in the
    middle would be closed, and begun anew, while lanes still write to it.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()  # seen here; the cancellation is what the caller gets
        raise cancelled
    task.result()


def _drop(state: FileState) -> None:
    """Break off its fetches, so that nobody waits for a slow server on behalf of a file that ended."""
    for worker in state.opened:
        with contextlib.suppress(WorkerLostError):
            worker.tell(Drop(file=state.number))
