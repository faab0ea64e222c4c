"""A payload lane as the control process sees it: choose a file, sign a request, wait for the answer, record it."""

from __future__ import annotations

import random

from cached import blocking
from cached.errors import CachedError
from cached.sources.base import Request
from cached.transfer import retry
from cached.transfer.board import Board, open_in
from cached.transfer.filestate import FileState, Take, choose
from cached.transfer.pieces import Range
from cached.transfer.pool import Worker, WorkerLostError
from cached.transfer.protocol import Done, Failed, Fetch


class PayloadLane:
    """Lane `lane` of worker `index`."""

    def __init__(self, board: Board, index: int, lane: int) -> None:
        self._board = board
        self._index = index
        self._lane = lane

    async def run(self) -> None:
        """Serve for ever."""
        while True:
            worker = self._board.pool.worker(self._index)
            now = self._board.clock.monotonic()
            files = list(self._board.files.values())
            state = None if worker is None or self._board.stopping else choose(files, (self._index, self._lane), now)
            if state is None or worker is None:
                await self._board.wait(self._patience(files, now, worker))
                continue
            take = state.take((self._index, self._lane), worker)
            try:
                await self._fetch(state, take, worker)
            finally:
                state.in_flight -= 1
                self._board.settle(state)
                self._board.ring()

    def _patience(self, files: list[FileState], now: float, worker: Worker | None) -> float | None:
        if worker is None:
            return 0.02
        later = [state.not_before - now for state in files if state.not_before > now and not state.over]
        return min(later, default=None)

    async def _fetch(self, state: FileState, take: Take, worker: Worker) -> None:
        number = self._board.pool.next_job()
        self._board.owners[number] = state
        try:
            sent = self._board.clock.monotonic()
            request = await self._sign(state)
            answer = await self._call(state, take, worker, self._message(state, take, request, number))
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
            del self._board.owners[number]

    async def _sign(self, state: FileState) -> Request:
        fresh, state.fresh = state.fresh, False
        return await blocking.run(state.job.source.request, state.job.listing, state.entry, fresh=fresh)

    def _message(self, state: FileState, take: Take, request: Request, number: int) -> Fetch:
        return Fetch(
            job=number,
            lane=self._lane,
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
        now = self._board.clock.monotonic()
        good = answer.length if isinstance(answer, Done) else answer.written
        if take.digest:
            state.fed(good)
        if good:
            state.landed(Range(take.range.offset, good), answer, now=now)
            state.progressed(now)
            if self._board.fills_window(state):
                self._board.window_filling.set()
        if isinstance(answer, Done):
            self._board.parts_done += 1
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
        self._board.faults[failed.fault] += 1
        anew = state.failed(sent, now)
        if retry.is_refusal(failed) and self._awaits_others(state, anew=anew):
            state.not_before = max(state.not_before, now + self._board.config.timeouts.retry_base)
            return
        action = retry.decide(
            failed,
            what=state.what,
            attempt=state.failures,
            attempts=self._board.config.transfer.attempts,
            refreshed=state.refreshed,
            timeouts=self._board.config.timeouts,
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
        return late and state.failures < self._board.config.transfer.attempts

    def _lost(self, state: FileState, take: Take, worker: Worker) -> None:
        """The worker died: what it had not reported is fetched again, what it had digested is read again."""
        self._board.faults["worker_lost"] += 1
        state.opened.discard(worker)
        state.pieces.give_back(take.range)
        if state.digest_worker is worker or take.digest:
            state.unfeed()
        state.restart = not state.ranges
