"""The control process of payload: hands ranges to lanes, journals what arrived, retries, proves the result.

One asyncio task a lane: it chooses a file, signs a request, waits for the worker's answer, and records it.
One housekeeping task makes finished parts durable, window by window, and ends files that stopped moving.
Decisions live in `filestate`, `retry` and `proof`; bytes move in the workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from collections import Counter
from collections.abc import Coroutine
from typing import cast

from msgspec.structs import replace

from cached import blocking
from cached.clock import Clock
from cached.config import Config
from cached.errors import CachedError, Code, Retryable
from cached.sources.base import Entry, Request
from cached.transfer import retry
from cached.transfer.filestate import FileJob, FileState, Take, choose
from cached.transfer.finish import Fetched, finish, release
from cached.transfer.pieces import Pieces, Range
from cached.transfer.pool import HASH_LANES, Pool, Worker, WorkerLostError
from cached.transfer.protocol import Checksum, Done, Drop, Failed, Fetch, Hash, Open

STOP_GRACE = 5.0
"""Seconds that parts in flight get at a stop."""


class Scheduler:
    """Fetches files for the engine. `run` must be running for `fetch` to get anywhere."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._files: dict[int, FileState] = {}
        self._numbers = itertools.count(1)
        self._owners: dict[int, FileState] = {}
        self._bell = asyncio.Event()
        self._window_filling = asyncio.Event()
        self._stopping = False
        self.pool = Pool(config, on_moved=self._moved)
        self.faults: Counter[str] = Counter()
        self.parts_done = 0

    # ------------------------------------------------------------------ the engine's side

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
                return await finish(state, self.pool)
            except WorkerLostError:
                state.reopen()
                self._settle(state)
                self.ring()

    def _begin(self, job: FileJob) -> FileState:
        part = self._config.transfer.part
        entry = job.entry
        state = FileState(
            number=next(self._numbers),
            job=job,
            part=part,
            hash_lag=self._config.transfer.hash_lag,
            entry=entry,
            checksum_algorithm=_algorithm(entry),
            pieces=Pieces(entry.size, part if entry.ranges else max(entry.size, 1)),
            finished=asyncio.get_running_loop().create_future(),
            ranges=entry.ranges,
            moved_at=self._clock.monotonic(),
        )
        if entry.ranges:
            kept = set(state.pieces.adopt(Range(each.offset, each.length) for each in job.ingest.parts))
            state.unchecked = [each for each in job.ingest.parts if Range(each.offset, each.length) in kept]
        self._files[state.number] = state
        self._settle(state)
        self.ring()
        return state

    async def _leave(self, state: FileState) -> None:
        try:
            await self._quiet(state)
        finally:
            del self._files[state.number]

    async def _quiet(self, state: FileState) -> None:
        """Wait until no lane works on the file; make what arrived durable, for a later resume; close it."""
        if not state.whole:
            _drop(state)
        while state.in_flight or state.feeding:
            await self._wait()
        if not state.whole:
            await self._journal(state)
        async with state.journaling:
            await release(state, self.pool)

    # ------------------------------------------------------------------ tasks

    def tasks(self) -> list[tuple[str, Coroutine[None, None, None]]]:
        """The long-lived tasks, by name, for the engine to guard."""
        workers = range(self._config.transfer.workers)
        return [
            *((f"worker-{index}", self.pool.keep(index)) for index in workers),
            *(
                (f"lane-{index}.{lane}", self._lane(index, lane))
                for index in workers
                for lane in range(self._config.transfer.connections)
            ),
            *(
                (f"hash-{index}.{lane}", self._hash_lane(index, lane))
                for index in workers
                for lane in range(HASH_LANES)
            ),
            ("housekeeping", self._housekeeping()),
        ]

    async def stop(self) -> None:
        """Give out no more work; let parts in flight end for 5 s; make what arrived durable; end the workers."""
        self._stopping = True
        deadline = self._clock.monotonic() + STOP_GRACE
        while any(state.in_flight for state in self._files.values()) and self._clock.monotonic() < deadline:
            await self._wait(0.05)
        await asyncio.gather(*(self._journal(state) for state in self._files.values()))
        await self.pool.stop()

    def ring(self) -> None:
        """Something changed: every waiting task looks again."""
        self._bell.set()
        self._bell = asyncio.Event()

    async def _wait(self, seconds: float | None = None) -> None:
        bell = self._bell
        try:
            async with asyncio.timeout(seconds):
                await bell.wait()
        except TimeoutError:
            return

    # ------------------------------------------------------------------ payload lanes

    async def _lane(self, index: int, lane: int) -> None:
        while True:
            worker = self.pool.worker(index)
            now = self._clock.monotonic()
            files = list(self._files.values())
            state = None if worker is None or self._stopping else choose(files, (index, lane), now)
            if state is None or worker is None:
                await self._wait(self._patience(files, now, worker))
                continue
            take = state.take((index, lane), worker)
            try:
                await self._fetch(state, take, worker, lane)
            finally:
                state.in_flight -= 1
                self._settle(state)
                self.ring()

    def _patience(self, files: list[FileState], now: float, worker: Worker | None) -> float | None:
        if worker is None:
            return 0.02
        later = [state.not_before - now for state in files if state.not_before > now and not state.over]
        return min(later, default=None)

    async def _fetch(self, state: FileState, take: Take, worker: Worker, lane: int) -> None:
        number = self.pool.next_job()
        self._owners[number] = state
        try:
            sent = self._clock.monotonic()
            request = await self._sign(state)
            answer = await self._call(state, take, worker, self._message(state, take, request, number, lane))
        except WorkerLostError:
            state.ended(number, 0)
            self._lost(state, take, worker)
        except CachedError as error:
            state.pieces.give_back(take.range)
            state.feeding = state.feeding and not take.digest
            state.fail(error)
        else:
            state.ended(number, answer.length if isinstance(answer, Done) else answer.written)
            self._answered(state, take, answer, sent)
        finally:
            del self._owners[number]

    async def _sign(self, state: FileState) -> Request:
        fresh, state.fresh = state.fresh, False
        return await blocking.run(state.job.source.request, state.job.listing, state.entry, fresh=fresh)

    def _message(self, state: FileState, take: Take, request: Request, number: int, lane: int) -> Fetch:
        return Fetch(
            job=number,
            lane=lane,
            file=state.number,
            offset=take.range.offset,
            length=take.range.length,
            total=state.entry.size,
            ranged=take.ranged,
            request=request,
            etag=state.entry.pin.etag,
            digest=take.digest,
            checksum=state.checksum_algorithm,
        )

    async def _call(self, state: FileState, take: Take, worker: Worker, message: Fetch) -> Done | Failed:
        open_in(state, worker, reset=take.digest and take.range.offset == 0)
        answer = await worker.call(message)
        assert isinstance(answer, Done | Failed)
        return answer

    def _answered(self, state: FileState, take: Take, answer: Done | Failed, sent: float) -> None:
        now = self._clock.monotonic()
        good = answer.length if isinstance(answer, Done) else answer.written
        if take.digest:
            state.fed(good)
        if good:
            state.landed(Range(take.range.offset, good), answer, now=now)
            state.progressed(now)
            if self._fills_window(state):
                self._window_filling.set()
        if isinstance(answer, Done):
            self.parts_done += 1
            self._confirm(state, answer)
            return
        state.pieces.give_back(Range(take.range.offset + good, take.range.length - good))
        self._failed(state, answer, now, sent)

    def _confirm(self, state: FileState, answer: Done) -> None:
        try:
            state.entry = state.job.source.confirm(state.entry, answer.headers)
        except CachedError as error:
            state.fail(error)

    def _failed(self, state: FileState, failed: Failed, now: float, sent: float) -> None:
        self.faults[failed.fault] += 1
        anew = state.failed(sent, now)
        if retry.is_refusal(failed) and self._awaits_others(state, anew=anew):
            state.not_before = max(state.not_before, now + self._config.timeouts.retry_base)
            return
        action = retry.decide(
            failed,
            what=state.what,
            attempt=state.failures,
            attempts=self._config.transfer.attempts,
            refreshed=state.refreshed,
            timeouts=self._config.timeouts,
            jitter=random.random,
        )
        match action:
            case retry.Fail(error):
                state.fail(error)
            case retry.Stream():
                state.restart = True
            case retry.Retry(after, fresh):
                state.fresh = state.fresh or fresh
                state.refreshed = state.refreshed or fresh
                state.not_before = max(state.not_before, now + after)
                state.restart = not state.ranges

    def _awaits_others(self, state: FileState, *, anew: bool) -> bool:
        """Whether a refusal decides nothing yet: it was signed before the renewal that another lane's refusal
        caused, or renewed requests of other lanes are still out, and one that succeeds allows another renewal.
        """
        late = state.refreshed and (not anew or state.in_flight > 1)
        return late and state.failures < self._config.transfer.attempts

    def _lost(self, state: FileState, take: Take, worker: Worker) -> None:
        """The worker died: what it had not reported is fetched again, what it had digested is read again."""
        self.faults["worker_lost"] += 1
        state.opened.discard(worker)
        state.pieces.give_back(take.range)
        if state.digest_worker is worker or take.digest:
            state.unfeed()
        state.restart = not state.ranges

    # ------------------------------------------------------------------ hash lanes

    async def _hash_lane(self, index: int, lane: int) -> None:
        while True:
            worker = self.pool.worker(index)
            if worker is None or self._stopping:
                await self._wait(0.05)
            elif (unchecked := next((s for s in self._files.values() if s.unchecked and not s.over), None)) is not None:
                await self._recheck(unchecked, worker, lane)
            elif (follow := next((s for s in self._files.values() if _follows(s, worker)), None)) is not None:
                await self._follow(follow, worker, lane)
            else:
                await self._wait()

    async def _recheck(self, state: FileState, worker: Worker, lane: int) -> None:
        """Read one journaled part back: it stays only if its sum still holds."""
        record = state.unchecked.pop(0)
        where = Range(record.offset, record.length)
        state.digest_worker = state.digest_worker or worker
        digest = record.offset == state.digest_at and not state.feeding and worker is state.digest_worker
        state.in_flight += 1
        state.feeding = state.feeding or digest
        try:
            answer = await self._hash(state, where, worker, lane, digest=digest)
        except WorkerLostError:
            state.unchecked.insert(0, record)
            state.opened.discard(worker)
            if digest:
                state.unfeed()
        else:
            good = isinstance(answer, Done) and answer.xxh3 == record.xxh3
            if digest:
                state.fed(record.length) if good else state.unfeed()
            if good:
                state.pieces.place(where)
                state.records[record.offset] = replace(record, checksum=answer.checksum)
                state.refresh()
            else:
                state.pieces.give_back(where)
        finally:
            state.in_flight -= 1
            self._settle(state)
            self.ring()

    async def _follow(self, state: FileState, worker: Worker, lane: int) -> None:
        """Feed the digests with what other lanes have placed."""
        where = state.hashable()
        assert where is not None
        state.feeding = True
        try:
            answer = await self._hash(state, where, worker, lane, digest=True)
        except WorkerLostError:
            state.opened.discard(worker)
            state.unfeed()
        else:
            if isinstance(answer, Done):
                state.fed(where.length)
            else:
                state.unfeed()
                state.fail(retry.disk_error(answer.errno, state.what))
        finally:
            self._settle(state)
            self.ring()

    async def _hash(self, state: FileState, where: Range, worker: Worker, lane: int, *, digest: bool) -> Done | Failed:
        open_in(state, worker, reset=digest and where.offset == 0)
        answer = await worker.call(
            Hash(
                job=self.pool.next_job(),
                lane=lane,
                file=state.number,
                offset=where.offset,
                length=where.length,
                digest=digest,
                checksum=state.checksum_algorithm,
            )
        )
        assert isinstance(answer, Done | Failed)
        return answer

    # ------------------------------------------------------------------ bookkeeping

    def _moved(self, job: int, count: int) -> None:
        state = self._owners.get(job)
        if state is not None:
            state.moved(job, count)
            state.moved_at = self._clock.monotonic()

    def _settle(self, state: FileState) -> None:
        """After every change: begin anew where that was decided, and notice the end."""
        if state.over:
            return
        lost = state.digest_worker
        if lost is not None and lost.process.returncode is not None and not state.feeding:
            state.unfeed()
        if state.restart and not state.in_flight and not state.feeding:
            state.wipe()
        if state.digest_worker is None and state.pieces.prefix and not state.feeding:
            state.digest_worker = next(filter(None, map(self.pool.worker, range(self._config.transfer.workers))), None)
        if state.whole and not state.unchecked:
            state.finished.set_result(None)

    async def _housekeeping(self) -> None:
        transfer, timeouts = self._config.transfer, self._config.timeouts
        pause = min(transfer.window_time, timeouts.no_progress) / 4
        while True:
            await self._rest(pause)
            now = self._clock.monotonic()
            due: list[FileState] = []
            for state in list(self._files.values()):
                self._settle(state)
                late = now - state.unjournaled_since >= transfer.window_time
                if state.unjournaled and (late or self._fills_window(state)):
                    due.append(state)
                if now - state.moved_at > timeouts.no_progress and not state.feeding:
                    state.fail(_no_progress(state, timeouts.no_progress))
            await asyncio.gather(*(self._journal(state) for state in due))
            self.ring()

    async def _rest(self, seconds: float) -> None:
        """Until some window is half full, at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._window_filling.wait()
        self._window_filling.clear()

    def _fills_window(self, state: FileState) -> bool:
        """Half of it: the other half is for what arrives while the first is made durable."""
        return state.unjournaled_bytes * 2 >= self._config.transfer.window

    async def _journal(self, state: FileState) -> None:
        """Make the parts that arrived durable, then say so in the journal."""
        async with state.journaling:
            records, state.unjournaled = state.unjournaled, []
            if not records or not state.job.ingest.resumable:
                return
            try:
                await blocking.run(state.job.ingest.journal, records)
            except OSError as error:
                state.fail(retry.disk_error(error.errno or 0, state.what))
            except CachedError as error:
                state.fail(error)


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


def _follows(state: FileState, worker: Worker) -> bool:
    return state.digest_worker is worker and state.hashable() is not None


def _no_progress(state: FileState, seconds: float) -> CachedError:
    return Retryable(
        f"{state.what} gained no byte for {seconds:.0f} s",
        code=Code.STALLED,
        hint="what arrived is kept: ask again when the source is well, and it goes on from there",
    )


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
