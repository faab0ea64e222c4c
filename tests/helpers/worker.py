"""A real worker process under a test's hands: say commands, wait for their answers."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from cached.sources.base import Request
from cached.transfer import protocol
from cached.transfer.protocol import (
    Answer,
    Checksum,
    Close,
    Closed,
    Command,
    Done,
    Failed,
    Fetch,
    Hash,
    Hello,
    Moved,
    Open,
)
from tests.helpers.hostile import Hostile

CONNECT = 5.0
FIRST_BYTE = 1.0
STALL_WINDOW = 0.4
STALL_FLOOR = 64 << 10


def request_for(server: Hostile, path: str, *, host: str = "127.0.0.1") -> Request:
    """A GET of the server's `path`."""
    ca_file = str(server.ca_file) if server.ca_file else None
    scheme = "https" if ca_file else "http"
    headers = (("Host", f"{host}:{server.port}"),)
    return Request(scheme=scheme, host=host, port=server.port, target=f"/{path}", headers=headers, ca_file=ca_file)


class WorkerProcess:
    """`python -m cached.transfer.worker` with `lanes` payload lanes and one hash lane. A context manager."""

    def __init__(
        self,
        *,
        lanes: int = 2,
        parent: int | None = None,
        environment: Mapping[str, str] | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._numbers = itertools.count(1)
        self.answers: list[Answer] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cached.transfer.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            preexec_fn=prepare,  # noqa: PLW1509  only tests that need a limit use it, before any thread exists
        )
        self.say(
            Hello(
                parent=os.getpid() if parent is None else parent,
                lanes=lanes,
                hash_lanes=1,
                connect=CONNECT,
                first_byte=FIRST_BYTE,
                stall_window=STALL_WINDOW,
                stall_floor=STALL_FLOOR,
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end_when_it_dies(self) -> tuple[int, str]:
        """Wait until it ends by itself; exit status and stderr."""
        self.process.wait(timeout=10)
        return self.end()

    def end(self) -> tuple[int, str]:
        """Close stdin; exit status and stderr."""
        _, stderr = self.process.communicate(timeout=10)
        return self.process.returncode, stderr.decode()

    def say(self, command: Command) -> None:
        """Send a command that gets no answer of its own."""
        assert self.process.stdin is not None
        self.process.stdin.write(protocol.encode(command))
        self.process.stdin.flush()

    def hear(self) -> Answer:
        """The next message."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the worker ended: {self.end()}"
        answer = protocol.decode_answer(line)
        self.answers.append(answer)
        return answer

    def call(self, command: Fetch | Hash | Close) -> Done | Failed | Closed:
        """Send a command and wait for its answer."""
        self.say(command)
        return self.answer_to(command.job)

    def answer_to(self, job: int) -> Done | Failed | Closed:
        """Wait for the answer to `job`, which was sent before; messages of other jobs are kept in `answers`."""
        while True:
            answer = self.hear()
            if not isinstance(answer, Moved) and answer.job == job:
                return answer

    def open(self, path: Path, *, size: int, digests: tuple[str, ...] = ()) -> int:
        """Create a file of `size` zero bytes and open it; its number."""
        with path.open("wb") as file:
            file.truncate(size)
        return self.open_existing(path, digests=digests)

    def open_existing(self, path: Path, *, digests: tuple[str, ...] = (), number: int | None = None) -> int:
        """Open a file, or open file `number` again; its number."""
        chosen = next(self._numbers) if number is None else number
        self.say(Open(file=chosen, path=str(path), size=path.stat().st_size, digests=digests))
        return chosen

    def fetch(
        self,
        file: int,
        request: Request,
        *,
        offset: int = 0,
        length: int,
        total: int | None = None,
        ranged: bool = True,
        etag: str | None = None,
        digest: bool = False,
        checksum: Checksum | None = None,
        lane: int = 0,
    ) -> Fetch:
        """A Fetch with a number of its own, not yet sent."""
        return Fetch(
            job=next(self._numbers),
            lane=lane,
            file=file,
            offset=offset,
            length=length,
            total=offset + length if total is None else total,
            ranged=ranged,
            request=request,
            etag=etag,
            digest=digest,
            checksum=checksum,
        )

    def hash(
        self, file: int, *, offset: int = 0, length: int, digest: bool = False, checksum: Checksum | None = None
    ) -> Done | Failed:
        """Read back and sum."""
        answer = self.call(
            Hash(
                job=next(self._numbers),
                lane=0,
                file=file,
                offset=offset,
                length=length,
                digest=digest,
                checksum=checksum,
            )
        )
        assert isinstance(answer, Done | Failed)
        return answer

    def close(self, file: int) -> Closed:
        """Close a file; its digests."""
        answer = self.call(Close(job=next(self._numbers), file=file))
        assert isinstance(answer, Closed)
        return answer
