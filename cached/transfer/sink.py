"""Where a job's bytes go: into the file, then into the sums; and the loop that brings them there.

A block is written first and summed after, while it is still in the CPU's cache: should the write fail, the
sums and the running digests stand exactly at the bytes that are good.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable

from cached.transfer.datafile import align_down
from cached.transfer.digests import PartSums
from cached.transfer.openfile import OpenFile
from cached.transfer.outcome import JobFault
from cached.transfer.protocol import Checksum

BLOCK = 1 << 20
"""Bytes of a lane's buffer. 256 KiB was measured worse, 4 MiB no better."""

Receive = Callable[[memoryview], int]
"""Puts at least one byte at the start of a buffer and says how many. Raises JobFault."""


def page_aligned_buffer(size: int = BLOCK) -> memoryview:
    """Memory that direct I/O accepts, kept for the life of a lane."""
    return memoryview(mmap.mmap(-1, size))


class Sink:
    """One job's place in a file. The first `written` bytes from its offset are in the file and in the sums."""

    def __init__(self, file: OpenFile, *, offset: int, checksum: Checksum | None, digest: bool) -> None:
        self._file = file
        self._offset = offset
        self._digest = digest
        self.sums = PartSums(checksum)
        self.written = 0

    def put(self, data: memoryview) -> None:
        """Write the next bytes. Raises JobFault (DISK)."""
        at = self._offset + self.written
        self._file.data().write(data, offset=at)
        self.sums.update(data)
        if self._digest:
            self._file.digests.update(data, offset=at)
        self.written += len(data)


def pump(receive: Receive, sink: Sink, *, length: int, buffer: memoryview) -> None:
    """Bring `length` bytes into `sink`, a full buffer at a time. When `receive` fails in the middle, what came is
    kept down to a multiple of 4096, where direct I/O can go on. Raises JobFault.
    """
    left = length
    while left:
        want = min(left, len(buffer))
        got = 0
        try:
            while got < want:
                got += receive(buffer[got:want])
        except JobFault:
            sink.put(buffer[: align_down(got)])
            raise
        sink.put(buffer[:want])
        left -= want
