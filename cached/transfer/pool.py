"""The worker processes: start them, speak with them, replace one that dies.

The only module that starts child processes. Workers are spawned from the event loop's thread, which must be
the main thread: the kernel ties their death to the thread that started them.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Callable

from cached.config import Config
from cached.errors import CachedError
from cached.failpoints import VARIABLE
from cached.transfer import protocol
from cached.transfer.protocol import Close, Closed, Done, Drop, Failed, Fetch, Hash, Hello, Moved, Open

HASH_LANES = 2
LINE_MAX = 1 << 20
END_TIMEOUT = 2.0
"""Seconds a worker has to end once its stdin is closed. It needs a millisecond."""
RESTARTS_MAX = 5
"""Workers that may die in a row, without one job done in between, before the daemon gives up."""

ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "SSL_CERT_FILE", "SSL_CERT_DIR", VARIABLE)
"""All that a worker inherits: no credentials."""


class WorkerLostError(Exception):
    """The worker died before it answered. What it had written is in the file, but nobody vouches for it."""


class Worker:
    """One running child process."""

    def __init__(self, process: asyncio.subprocess.Process, on_moved: Callable[[int, int], None]) -> None:
        self.process = process
        self._on_moved = on_moved
        self._waiting: dict[int, asyncio.Future[Done | Failed | Closed]] = {}
        self.answered = 0

    def __repr__(self) -> str:
        return f"<Worker pid={self.process.pid} waiting={len(self._waiting)}>"

    def tell(self, message: Hello | Open | Drop) -> None:
        """Send what is not answered. Raises WorkerLostError."""
        self._write(protocol.encode(message))

    async def call(self, message: Fetch | Hash | Close) -> Done | Failed | Closed:
        """Send a job and wait for its answer. Raises WorkerLostError. Cancelling the caller leaves the job running."""
        answer: asyncio.Future[Done | Failed | Closed] = asyncio.get_running_loop().create_future()
        self._waiting[message.job] = answer
        try:
            self._write(protocol.encode(message))
            return await answer
        finally:
            self._waiting.pop(message.job, None)

    def _write(self, line: bytes) -> None:
        stdin = self.process.stdin
        if stdin is None or stdin.is_closing() or self.process.returncode is not None:
            raise WorkerLostError
        stdin.write(line)

    async def listen(self) -> None:
        """Hand out answers until the worker ends; then every waiting caller gets WorkerLostError."""
        assert self.process.stdout is not None
        try:
            while line := await self.process.stdout.readline():
                self._hand_out(protocol.decode_answer(line))
        finally:
            await self.end()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(WorkerLostError())

    async def end(self) -> None:
        """Close its stdin, which ends it at once, and wait for it. Killed only if that does not: `kill` polls, and
        would take the exit status away from the event loop's own watcher.
        """
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            async with asyncio.timeout(END_TIMEOUT):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()

    def _hand_out(self, message: protocol.Answer) -> None:
        if isinstance(message, Moved):
            for job, count in message.jobs:
                self._on_moved(job, count)
            return
        self.answered += 1
        answer = self._waiting.get(message.job)
        if answer is not None and not answer.done():
            answer.set_result(message)


class Pool:
    """`Config.transfer.workers` workers, each replaced when it dies."""

    def __init__(self, config: Config, *, on_moved: Callable[[int, int], None]) -> None:
        self._config = config
        self._on_moved = on_moved
        self._jobs = itertools.count(1)
        self._workers: list[Worker | None] = [None] * config.transfer.workers
        self.restarts = 0
        self._barren = 0

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers that run."""
        return tuple(worker.process.pid for worker in self._workers if worker)

    def worker(self, index: int) -> Worker | None:
        """The worker of that index, or None while it is being replaced."""
        return self._workers[index]

    def next_job(self) -> int:
        """A number that no other job has."""
        return next(self._jobs)

    async def keep(self, index: int) -> None:
        """Run worker `index` for ever: start it, listen, start it again. Raises CachedError when workers die in
        a row without doing anything, which no restart will mend.
        """
        while True:
            worker = await self._spawn()
            self._workers[index] = worker
            try:
                await worker.listen()
            finally:
                self._workers[index] = None
            self.restarts += 1
            self._barren = 0 if worker.answered else self._barren + 1
            if self._barren >= RESTARTS_MAX:
                raise CachedError(
                    f"{self._barren} workers in a row died before they did anything (last exit status "
                    f"{worker.process.returncode})",
                    hint="run `python -m cached.transfer.worker </dev/null` as the daemon's user to see why",
                )
            await asyncio.sleep(min(5.0, 0.05 * 2**self._barren))

    async def _spawn(self) -> Worker:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "cached.transfer.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_MAX,
            env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
        )
        worker = Worker(process, self._on_moved)
        timeouts = self._config.timeouts
        worker.tell(
            Hello(
                parent=os.getpid(),
                lanes=self._config.transfer.connections,
                hash_lanes=HASH_LANES,
                connect=timeouts.connect,
                first_byte=timeouts.first_byte,
                stall_window=timeouts.stall_window,
                stall_floor=timeouts.stall_floor,
            )
        )
        return worker

    async def stop(self) -> None:
        """End every worker."""
        for worker in filter(None, self._workers):
            await worker.end()
