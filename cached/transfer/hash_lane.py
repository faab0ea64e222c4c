"""A hash lane as the control process sees it: proves what an earlier run left, and feeds the digests with what
other lanes placed, by having the worker read it back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from cached import blocking
from cached.errors import CachedError
from cached.store.records import PartRecord
from cached.transfer import retry
from cached.transfer.board import Board, open_in
from cached.transfer.filestate import FileState
from cached.transfer.pieces import Range
from cached.transfer.pool import Worker, WorkerLostError
from cached.transfer.protocol import Done, Failed, Hash


class HashLane:
    """Hash lane `lane` of worker `index`."""

    def __init__(self, board: Board, index: int, lane: int) -> None:
        self._board = board
        self._index = index
        self._lane = lane

    async def run(self) -> None:
        """Serve for ever."""
        while True:
            worker = self._board.pool.worker(self._index)
            if worker is None or self._board.stopping:
                await self._board.wait(0.05)
            elif (state := self._next(lambda each: bool(each.unchecked) and not each.over)) is not None:
                await self._recheck(state, worker)
            elif (state := self._next(partial(_follows, worker))) is not None:
                await self._follow(state, worker)
            else:
                await self._board.wait()

    def _next(self, wants: Callable[[FileState], bool]) -> FileState | None:
        return next(filter(wants, self._board.files.values()), None)

    async def _recheck(self, state: FileState, worker: Worker) -> None:
        """Read one journaled part back: it stays only if its sum still holds."""
        record = state.unchecked.pop(0)
        where = Range(record.offset, record.length)
        state.digest_worker = state.digest_worker or worker
        digest = record.offset == state.digest_at and not state.feeding and worker is state.digest_worker
        state.in_flight += 1
        state.feeding = state.feeding or digest
        try:
            answer = await self._hash(state, where, worker, digest=digest)
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
                await self._forget(state, record)
                state.pieces.give_back(where)
        finally:
            state.in_flight -= 1
            self._board.settle(state)
            self._board.ring()

    async def _forget(self, state: FileState, record: PartRecord) -> None:
        """A part that is not what the journal says goes from the journal, before it is fetched and noted again."""
        ingest = state.job.ingest
        async with state.journaling:
            try:
                await blocking.run(ingest.rewrite_journal, [each for each in ingest.parts if each != record])
            except CachedError as error:
                state.fail(error)

    async def _follow(self, state: FileState, worker: Worker) -> None:
        """Feed the digests with what other lanes have placed."""
        where = state.hashable()
        assert where is not None
        state.feeding = True
        try:
            answer = await self._hash(state, where, worker, digest=True)
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
            self._board.settle(state)
            self._board.ring()

    async def _hash(self, state: FileState, where: Range, worker: Worker, *, digest: bool) -> Done | Failed:
        open_in(state, worker, reset=digest and where.offset == 0)
        answer = await worker.call(
            Hash(
                job=self._board.pool.next_job(),
                lane=self._lane,
                file=state.number,
                offset=where.offset,
                length=where.length,
                digest=digest,
                checksum=state.checksum_algorithm,
            )
        )
        assert isinstance(answer, Done | Failed)
        return answer


def _follows(worker: Worker, state: FileState) -> bool:
    return state.digest_worker is worker and state.hashable() is not None
