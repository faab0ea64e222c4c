"""What a hash lane does with a Hash: read bytes back from the file and sum them.

For digests that follow a fetch shared by several connections, and for a resume that wants its parts proved.
"""

from __future__ import annotations

import errno

from cached.transfer.datafile import align_up
from cached.transfer.digests import PartSums
from cached.transfer.openfile import OpenFile
from cached.transfer.outcome import JobFault, failed
from cached.transfer.protocol import Done, Failed, Fault, Hash
from cached.transfer.sink import page_aligned_buffer

BLOCK = 4 << 20
"""Bytes a read. Direct reads have no read-ahead: a block this large keeps an NVMe disk busy by itself."""


class Rereader:
    """One hash lane's state: its buffer."""

    def __init__(self) -> None:
        self._buffer = page_aligned_buffer(BLOCK)

    def run(self, job: Hash, file: OpenFile) -> Done | Failed:
        """Carry `job` out. Never raises for what a disk does."""
        sums = PartSums(job.checksum)
        done = 0
        try:
            while done < job.length:
                block = self._read(file, offset=job.offset + done, length=min(BLOCK, job.length - done))
                sums.update(block)
                if job.digest:
                    file.digests.update(block, offset=job.offset + done)
                done += len(block)
        except JobFault as fault:
            return failed(job.job, fault, written=done, sums=sums)
        return Done(job=job.job, length=done, xxh3=sums.xxh3, checksum=sums.checksum)

    def _read(self, file: OpenFile, *, offset: int, length: int) -> memoryview:
        count = file.data().read(self._buffer[: align_up(length)], offset=offset)
        if count < length:
            raise JobFault(Fault.DISK, f"the data file ends at {offset + count}", errno=errno.EIO)
        return self._buffer[:length]
