"""Makes finished parts durable, window by window, and ends files that stopped moving."""

from __future__ import annotations

import asyncio
import contextlib

from cached import blocking
from cached.errors import CachedError, Code, Retryable
from cached.transfer.board import Board
from cached.transfer.filestate import FileState


class Windows:
    """The housekeeping of all files."""

    def __init__(self, board: Board) -> None:
        self._board = board

    async def run(self) -> None:
        """Look after them for ever."""
        transfer, timeouts = self._board.config.transfer, self._board.config.timeouts
        pause = min(transfer.window_time, timeouts.no_progress) / 4
        while True:
            await self._rest(pause)
            now = self._board.clock.monotonic()
            due: list[FileState] = []
            for state in list(self._board.files.values()):
                self._board.settle(state)
                late = now - state.unjournaled_since >= transfer.window_time
                if state.unjournaled and (late or self._board.fills_window(state)):
                    due.append(state)
                if state.idle(now):
                    state.moved_at = now  # to wait for a lane is no lack of progress
                elif now - state.moved_at > timeouts.no_progress:
                    state.fail(_no_progress(state, timeouts.no_progress))
            await asyncio.gather(*(self.journal(state) for state in due))
            self._board.ring()

    async def _rest(self, seconds: float) -> None:
        """Until some window is half full, at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._board.window_filling.wait()
        self._board.window_filling.clear()

    async def journal(self, state: FileState) -> None:
        """Make the parts that arrived durable, then say so in the journal."""
        async with state.journaling:
            records, state.unjournaled = state.unjournaled, []
            if not records or not state.job.ingest.resumable:
                return
            try:
                await blocking.run(state.job.ingest.journal, records)
            except CachedError as error:
                state.fail(error)


def _no_progress(state: FileState, seconds: float) -> CachedError:
    return Retryable(
        f"{state.what} gained no byte for {seconds:.0f} s",
        code=Code.STALLED,
        hint="what arrived is kept: ask again when the source is well, and it goes on from there",
    )
