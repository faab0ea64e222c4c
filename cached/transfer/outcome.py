"""How a job ends badly, inside a worker: one exception that carries what `Failed` says.

Foreign exceptions (sockets, TLS, files) become a `JobFault` where they are caught first. Messages name hosts and
paths, never query strings or header values: those may hold credentials.
"""

from __future__ import annotations

from collections.abc import Mapping

from cached.transfer.digests import PartSums
from cached.transfer.protocol import Failed, Fault


class JobFault(Exception):
    """The job cannot go on. `errno` is the kernel's, for faults of files; the rest belongs to a refused answer."""

    def __init__(
        self,
        fault: Fault,
        message: str,
        *,
        errno: int = 0,
        status: int = 0,
        headers: Mapping[str, str] | None = None,
        body: str = "",
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.errno = errno
        self.status = status
        self.headers = dict(headers or {})
        self.body = body


def disk_fault(error: OSError, action: str) -> JobFault:
    """`error` of the cache's own file, while it did `action` (such as "write")."""
    return JobFault(Fault.DISK, f"cannot {action} the data file: {error.strerror}", errno=error.errno or 0)


def failed(job: int, fault: JobFault, *, written: int, sums: PartSums) -> Failed:
    """The answer to a job that `fault` ended after `written` good bytes, which `sums` covers."""
    return Failed(
        job=job,
        fault=fault.fault,
        message=fault.message,
        written=written,
        xxh3=sums.xxh3,
        checksum=sums.checksum,
        status=fault.status,
        errno=fault.errno,
        headers=fault.headers,
        body=fault.body,
    )
