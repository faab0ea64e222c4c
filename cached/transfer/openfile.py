"""A file that the control process opened: the data file, and the running digests over it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from cached.transfer.datafile import DIRECT_MIN, DataFile
from cached.transfer.digests import RunningDigests
from cached.transfer.outcome import JobFault
from cached.transfer.protocol import Fault


class OpenFile:
    """Opened on disk by the first job that needs it, so a failure to open is that job's answer."""

    def __init__(self, path: str, size: int, digests: tuple[str, ...]) -> None:
        self._path = path
        self._size = size
        self._lock = threading.Lock()
        self._data: DataFile | None = None
        self._aborts: set[Callable[[], None]] = set()
        self.dropped = False
        self.digests = RunningDigests(digests)

    def data(self) -> DataFile:
        """The file on disk. Raises JobFault (DISK)."""
        with self._lock:
            if self._data is None:
                self._data = DataFile(self._path, direct=self._size >= DIRECT_MIN)
            return self._data

    @contextlib.contextmanager
    def abortable(self, abort: Callable[[], None]) -> Iterator[None]:
        """While the block waits for a server, `drop` calls `abort`, from another thread. Raises JobFault (DROPPED)."""
        with self._lock:
            self._aborts.add(abort)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._aborts.discard(abort)

    def drop(self) -> None:
        """Nobody wants it any more: break off whoever works on it."""
        with self._lock:
            self.dropped = True
            for abort in self._aborts:
                abort()

    def check(self) -> None:
        """Raises JobFault (DROPPED) once nobody wants the file."""
        if self.dropped:
            raise JobFault(Fault.DROPPED, "nobody wants it any more")

    def restart(self, digests: tuple[str, ...]) -> None:
        """Start the running digests again from byte 0."""
        self.digests = RunningDigests(digests)

    def close(self) -> None:
        """Let the file go. No job may be using it."""
        if self._data is not None:
            self._data.close()
