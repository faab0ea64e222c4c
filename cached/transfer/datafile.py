"""The preallocated file that payload is written into, and read back from, past the page cache.

Direct I/O costs a third of the CPU of buffered writes and leaves the node's page cache to the engines that
serve models. It wants offsets, lengths and memory in multiples of 4096: callers pass page-aligned buffers and
offsets, the file's unaligned tail goes through a second, buffered descriptor. A file system without direct
I/O gets buffered writes that drop their pages behind themselves.

Never creates, resizes or syncs: durability belongs to the control process.
"""

from __future__ import annotations

import errno
import os

from cached import failpoints
from cached.transfer.outcome import disk_fault

ALIGN = 4096
DIRECT_MIN = 1 << 20
"""Bytes. A direct write waits for the disk; of a smaller file the wait costs more than the copy it saves."""
_BEHIND = 16 << 20
"""How far behind a buffered write pages are dropped: the first advice starts their writeback, one that comes
this much later finds them clean."""
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


def align_down(count: int) -> int:
    """The largest multiple of 4096 that is at most `count`."""
    return count & -ALIGN


def align_up(count: int) -> int:
    """The smallest multiple of 4096 that is at least `count`."""
    return -(-count // ALIGN) * ALIGN


class DataFile:
    """One open file. `write` and `read` may be called by several threads, on ranges that do not overlap."""

    def __init__(self, path: str, *, direct: bool = True) -> None:
        """`direct` is for files that are worth it (`DIRECT_MIN`). Raises JobFault (DISK)."""
        self._buffered = -1
        try:
            self._buffered = os.open(path, os.O_RDWR | _FLAGS)
            self._direct = _open_direct(path) if direct else None
        except OSError as error:
            if self._buffered >= 0:
                os.close(self._buffered)
            raise disk_fault(error, "open") from error
        self._is_direct = self._direct is not None

    def close(self) -> None:
        """Drop what is cached of it, then close. No job may be using it."""
        os.posix_fadvise(self._buffered, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(self._buffered)
        if self._direct is not None:
            os.close(self._direct)

    def write(self, data: memoryview, *, offset: int) -> None:
        """Write all of `data` (page-aligned memory) at `offset`, a multiple of 4096. Raises JobFault (DISK)."""
        try:
            failpoints.hit("worker.write")
            done = 0
            while done < len(data):
                done += self._write_some(data[done:], offset + done)
        except OSError as error:
            raise disk_fault(error, "write") from error
        if not self._is_direct:
            start = max(0, offset - _BEHIND)
            os.posix_fadvise(self._buffered, start, offset + len(data) - start, os.POSIX_FADV_DONTNEED)

    def read(self, into: memoryview, *, offset: int) -> int:
        """Fill `into` (page-aligned, a multiple of 4096 long) from `offset` (a multiple of 4096) as far as the
        file goes; how many bytes came. Raises JobFault (DISK).
        """
        done = 0
        try:
            while done < len(into):
                count = self._read_some(into[done:], offset + done)
                if count == 0:
                    break
                done += count
        except OSError as error:
            raise disk_fault(error, "read") from error
        if not self._is_direct:
            os.posix_fadvise(self._buffered, offset, done, os.POSIX_FADV_DONTNEED)
        return done

    def _write_some(self, data: memoryview, offset: int) -> int:
        aligned = align_down(len(data))
        if self._direct is not None and self._is_direct and aligned and offset % ALIGN == 0:
            try:
                return os.pwrite(self._direct, data[:aligned], offset)
            except OSError as error:
                self._fall_back(error)
        return os.pwrite(self._buffered, data, offset)

    def _read_some(self, into: memoryview, offset: int) -> int:
        if self._direct is not None and self._is_direct and offset % ALIGN == 0:
            try:
                return os.preadv(self._direct, [into], offset)
            except OSError as error:
                self._fall_back(error)
        return os.preadv(self._buffered, [into], offset)

    def _fall_back(self, error: OSError) -> None:
        """Some file systems open for direct I/O and refuse it only when it happens."""
        if error.errno != errno.EINVAL:
            raise error
        self._is_direct = False


def _open_direct(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_DIRECT | _FLAGS)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return None
