"""A `file` request: payload that lies on this machine, copied in like any other, never linked to.

The pin of a local file is its identity and times. They are compared after each block is read and before it
counts, so nothing that was read from a file that changed is ever written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from cached.sources.base import file_validator
from cached.transfer.outcome import JobFault
from cached.transfer.protocol import Fault, Fetch
from cached.transfer.sink import Receive

# Not blocking: a FIFO or a device in a file's place must not hang the lane.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@contextmanager
def local_source(fetch: Fetch) -> Iterator[Receive]:
    """Yields what reads the bytes of `fetch` in order. Raises JobFault (SOURCE_FILE)."""
    try:
        descriptor = os.open(fetch.request.target, _FLAGS)
    except OSError as error:
        raise _unreadable(error) from error
    try:
        _compare(descriptor, fetch)
        yield _reader(descriptor, fetch)
    finally:
        os.close(descriptor)


def _reader(descriptor: int, fetch: Fetch) -> Receive:
    position = fetch.offset

    def receive(into: memoryview) -> int:
        nonlocal position
        try:
            count = os.preadv(descriptor, [into], position)
        except OSError as error:
            raise _unreadable(error) from error
        _compare(descriptor, fetch)
        if count == 0:
            raise JobFault(Fault.SOURCE_FILE, "the source file ends before its pinned size")
        position += count
        return count

    return receive


def _compare(descriptor: int, fetch: Fetch) -> None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise JobFault(Fault.SOURCE_FILE, "the source is not a regular file")
    if file_validator(found) != fetch.etag:
        raise JobFault(Fault.SOURCE_FILE, "the source file is no longer as it was pinned")


def _unreadable(error: OSError) -> JobFault:
    return JobFault(Fault.SOURCE_FILE, f"cannot read the source file: {error.strerror}", errno=error.errno or 0)
