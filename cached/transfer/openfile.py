"""A file that the control process opened: the data file, and the running digests over it."""

from __future__ import annotations

import threading

from cached.transfer.datafile import DataFile
from cached.transfer.digests import RunningDigests


class OpenFile:
    """Opened on disk by the first job that needs it, so a failure to open is that job's answer."""

    def __init__(self, path: str, digests: tuple[str, ...]) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._data: DataFile | None = None
        self.digests = RunningDigests(digests)

    def data(self) -> DataFile:
        """The file on disk. Raises JobFault (DISK)."""
        with self._lock:
            if self._data is None:
                self._data = DataFile(self._path)
            return self._data

    def restart(self, digests: tuple[str, ...]) -> None:
        """Start the running digests again from byte 0."""
        self.digests = RunningDigests(digests)

    def close(self) -> None:
        """Let the file go. No job may be using it."""
        if self._data is not None:
            self._data.close()
