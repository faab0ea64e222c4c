"""The server: sockets, threads and the record of what was asked.

One thread accepts, one serves each connection. `stop` ends them all, whatever they are doing: it shuts
their sockets, so that nothing has to poll.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.helpers.hostile.answers import answer
from tests.helpers.hostile.certificate import issue
from tests.helpers.hostile.content import Content, as_content
from tests.helpers.hostile.exchange import Op, Reply, Request
from tests.helpers.hostile.faults import Fault
from tests.helpers.hostile.items import Item, Shelf, full_checksum, s3_etag
from tests.helpers.hostile.mischief import Mischief
from tests.helpers.hostile.wire import Pace, finish, read_request, write_reply

STATS = "/-/stats"
"""Answers the counts as JSON, for tests that run the server as a child process."""


class Hostile:
    """Serves objects and files on 127.0.0.1, correctly until told otherwise. A context manager.

    `rate` bounds all payload together, in bytes a second; `page` is the most keys a listing answer holds.
    """

    def __init__(self, *, port: int = 0, tls: bool = False, rate: int | None = None, page: int = 1000) -> None:
        self.shelf = Shelf()
        self.requests: list[Request] = []
        self._page = page
        self._mischief = Mischief()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._pace = Pace(rate, self._stopping)
        self._first: dict[str, tuple[int, float]] = {}
        self._open: dict[socket.socket, threading.Thread] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="hostile-")
        self._tls: ssl.SSLContext | None = None
        self.ca_file: Path | None = None
        if tls:
            self._tls, self.ca_file = self._certificate()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=256)
        self._acceptor = threading.Thread(target=self._accept, name="hostile-accept")
        self._acceptor.start()

    # What is served

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        """Without a slash at the end."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def put(
        self,
        path: str,
        content: Content | bytes | int,
        *,
        etag: str | None = None,
        checksum: str | tuple[str, str] | None = None,
        **attributes: str | None,
    ) -> Item:
        """Store an S3 object as `bucket/key`: bytes, so many synthetic bytes, or content.

        The ETag is the MD5 unless given; `checksum` names an algorithm to compute over the whole, or gives
        (algorithm, value). Other attributes are `Item`'s.
        """
        body = as_content(content, seed=path)
        said = full_checksum(body, checksum) if isinstance(checksum, str) else checksum
        item = Item(content=body, etag=etag or s3_etag(body), checksum=said, **attributes)  # type: ignore[arg-type]
        self.shelf.put(path, item)
        return item

    def put_file(
        self,
        path: str,
        content: Content | bytes | int,
        *,
        etag: str | None = '"strong"',
        ranges: bool = True,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Item:
        """Store a plain file at `/path`, with a strong, weak (`W/"..."`) or no (None) ETag."""
        item = Item(content=as_content(content, seed=path), etag=etag, ranges=ranges, headers=headers, s3=False)
        self.shelf.put(path, item)
        return item

    # What goes wrong

    def misbehave(self, path: str, fault: Fault, *, times: int | None = 1, skip: int = 0, op: Op = Op.GET) -> None:
        """Break the answers to `op` requests for `path` (`bucket/key`; with `*` at the end, all that begin so).

        Counted from this call, the first `skip` such requests are answered well, the next `times` badly
        (None: all of them).
        """
        self._mischief.add(path, fault, times=times, skip=skip, op=op)

    def when(self, path: str, action: Callable[[], object], *, skip: int = 0, op: Op = Op.GET) -> None:
        """Run `action` once, before the request number `skip` (from 0) for `path` is answered."""
        self._mischief.add_action(path, action, skip=skip, op=op)

    # What happened

    def asked(self, path: str, op: Op = Op.GET) -> list[Request]:
        """The requests of one kind for one path, in order of arrival."""
        with self._lock:
            return [request for request in self.requests if request.path == path and request.op is op]

    @property
    def payload(self) -> int:
        """Bytes of objects and files sent so far."""
        with self._lock:
            return sum(request.sent for request in self.requests)

    # Life

    def stop(self) -> None:
        """End every connection and thread. May be called again."""
        self._stopping.set()
        with contextlib.suppress(OSError):  # wakes accept(); it is not connected, so Linux says ENOTCONN
            self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        with self._lock:
            still = dict(self._open)
        for connection in still:
            _shut(connection)
        for thread in still.values():
            thread.join()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _certificate(self) -> tuple[ssl.SSLContext, Path]:
        context, pem = issue()
        path = Path(self._folder.name, "ca.pem")
        path.write_text(pem)
        return context, path

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), name="hostile-connection")
            with self._lock:
                self._open[connection] = thread
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        served = connection
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls:
                served = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                self._replace(connection, served)
            with served:
                self._converse(served)
        except (OSError, ValueError):  # ValueError: stop shut a TLS socket under a read
            pass
        finally:
            served.close()
            with self._lock:
                self._open.pop(served, None)

    def _replace(self, connection: socket.socket, secured: ssl.SSLSocket) -> None:
        """Wrapping took the descriptor away from the plain socket: `stop` must shut the other one."""
        with self._lock:
            self._open[secured] = self._open.pop(connection)
        if self._stopping.is_set():
            raise OSError("stopped before the handshake")
        secured.do_handshake()

    def _converse(self, connection: socket.socket) -> None:
        while (request := read_request(connection)) is not None:
            reply = self._reply(request)
            paces = (self._pace, Pace(reply.rate, self._stopping)) if reply.payload else ()
            write_reply(connection, request, reply, paces=paces, count=self._counter(request))
            if not finish(connection, reply.ending):
                return

    def _counter(self, request: Request) -> Callable[[int], None]:
        def count(sent: int) -> None:
            with self._lock:
                request.sent += sent

        return count

    def _reply(self, request: Request) -> Reply:
        if request.target == STATS:
            text = f'{{"payload": {self.payload}, "requests": {len(self.requests)}}}'
            return Reply.text(200, text, content_type="application/json")
        faults = self._record(request)
        reply = answer(request, self.shelf, page=self._page)
        for fault in faults:
            reply = fault.apply(request, reply)
        request.status = reply.status
        return reply

    def _record(self, request: Request) -> list[Fault]:
        now = time.monotonic()
        with self._lock:
            seen, since = self._first.get(request.target, (0, now))
            self._first[request.target] = (seen + 1, since)
            request.repeats, request.age = seen, now - since
            self.requests.append(request)
        return self._mischief.due(request)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
