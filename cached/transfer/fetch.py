"""What a payload lane does with a Fetch: ask, judge the answer, bring the bytes in, say how it went.

A lane keeps one connection an origin. A connection goes back to it only after an answer that was accepted and
read to its end; after anything else it is closed, so no job ever meets what another left behind.
"""

from __future__ import annotations

from collections import OrderedDict

from cached.sources.base import Request
from cached.transfer.accept import Asked, refuse
from cached.transfer.answers import Progress
from cached.transfer.head import Head
from cached.transfer.http1 import Connection, Limits, StaleConnectionError, request_bytes
from cached.transfer.localfile import local_source
from cached.transfer.openfile import OpenFile
from cached.transfer.outcome import JobFault, failed
from cached.transfer.protocol import Done, Failed, Fault, Fetch
from cached.transfer.sink import Receive, Sink, page_aligned_buffer, pump
from cached.transfer.stream import Origin, connect

_CONNECTIONS = 4
"""Kept a lane. A model comes from one origin, rarely two; more would only hold sockets open."""


class Fetcher:
    """One payload lane's state: its buffer and its connections."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buffer = page_aligned_buffer()
        self._kept: OrderedDict[Origin, Connection] = OrderedDict()

    def run(self, fetch: Fetch, file: OpenFile, progress: Progress) -> Done | Failed:
        """Carry `fetch` out. Never raises for what a server, the network or a disk does."""
        sink = Sink(file, offset=fetch.offset, checksum=fetch.checksum, digest=fetch.digest)
        try:
            file.data()  # a file that does not open is known before a byte is asked for
            headers = self._bring(fetch, sink, progress, file)
        except JobFault as fault:
            return failed(fetch.job, fault, written=sink.written, sums=sink.sums)
        sums = sink.sums
        return Done(job=fetch.job, length=sink.written, xxh3=sums.xxh3, checksum=sums.checksum, headers=headers)

    def _bring(self, fetch: Fetch, sink: Sink, progress: Progress, file: OpenFile) -> dict[str, str]:
        if fetch.request.scheme == "file":
            with local_source(fetch) as receive:
                pump(_counted(receive, progress, file), sink, length=fetch.length, buffer=self._buffer)
            return {}
        return self._download(fetch, sink, progress, file)

    def _download(self, fetch: Fetch, sink: Sink, progress: Progress, file: OpenFile) -> dict[str, str]:
        origin = _origin(fetch.request)
        connection, head = self._ask(origin, request_bytes(fetch), file)
        done = False
        try:
            _accept(fetch, connection, head)
            with file.abortable(connection.abort):
                pump(_counted(connection.receive, progress, file), sink, length=fetch.length, buffer=self._buffer)
            done = True
        finally:
            if done and head.keep_alive:
                self._keep(origin, connection)
            else:
                connection.close()
        return head.kept()

    def _ask(self, origin: Origin, request: bytes, file: OpenFile) -> tuple[Connection, Head]:
        """A server may close a kept connection at any moment between two requests; that is no fault of the job."""
        kept = self._kept.pop(origin, None)
        if kept is not None:
            if kept.reusable:
                try:
                    return self._ask_on(kept, request, file)
                except StaleConnectionError:
                    pass
            else:
                kept.close()
        fresh = Connection(connect(origin, timeout=self._limits.connect), self._limits)
        return self._ask_on(fresh, request, file)

    @staticmethod
    def _ask_on(connection: Connection, request: bytes, file: OpenFile) -> tuple[Connection, Head]:
        try:
            with file.abortable(connection.abort):
                return connection, connection.ask(request)
        except BaseException:
            connection.close()
            raise

    def _keep(self, origin: Origin, connection: Connection) -> None:
        self._kept[origin] = connection
        if len(self._kept) > _CONNECTIONS:
            self._kept.popitem(last=False)[1].close()


def _origin(request: Request) -> Origin:
    if request.scheme not in {"http", "https"}:
        raise JobFault(Fault.PROTOCOL, f"a worker does not speak {request.scheme}")
    return Origin(request.scheme, request.host, request.port, request.ca_file)


def _accept(fetch: Fetch, connection: Connection, head: Head) -> None:
    asked = Asked(
        offset=fetch.offset,
        length=fetch.length,
        total=fetch.total,
        ranged=fetch.ranged and fetch.length > 0,
        etag=fetch.etag,
    )
    refusal = refuse(asked, head)
    if refusal is None:
        return
    body = connection.excerpt(head) if head.status >= 300 else ""
    raise JobFault(refusal.fault, refusal.message, status=head.status, headers=head.kept(), body=body)


def _counted(receive: Receive, progress: Progress, file: OpenFile) -> Receive:
    def counted(into: memoryview) -> int:
        file.check()
        count = receive(into)
        progress.received += count
        return count

    return counted
