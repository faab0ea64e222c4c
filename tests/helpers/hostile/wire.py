"""Bytes on the socket: reading a request's head, writing a reply exactly as wrong as it is.

Owns framing and pace; decides nothing. A connection that the other side drops ends with OSError.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http import HTTPStatus

from tests.helpers.hostile.content import blocks
from tests.helpers.hostile.exchange import Ending, Reply, Request

HEAD_MAX = 64 << 10
_LINGER_ZERO = struct.pack("ii", 1, 0)


class Pace:
    """A rate that several connections share, in bytes a second; None: as fast as it goes."""

    def __init__(self, rate: int | None, stopping: threading.Event) -> None:
        self._rate = rate
        self._stopping = stopping
        self._lock = threading.Lock()
        self._due = 0.0

    @property
    def step(self) -> int | None:
        """Bytes to send at once so that the rate holds over a tenth of a second."""
        return None if self._rate is None else max(1, self._rate // 10)

    def wait(self, count: int) -> None:
        """Let the time pass that `count` bytes take. Raises ConnectionAbortedError when the server stops."""
        if self._rate is None:
            return
        with self._lock:
            now = time.monotonic()
            self._due = max(self._due, now) + count / self._rate
            delay = self._due - now
        if self._stopping.wait(delay):
            raise ConnectionAbortedError("the server stops")


def read_request(connection: socket.socket) -> Request | None:
    """The next request's head; None when the client is done. Bodies are not read: no GET or HEAD has one."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(HEAD_MAX)
        if not piece or len(data) > HEAD_MAX:
            return None
        data += piece
    lines = data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ", 2)
    pairs = (line.partition(":") for line in lines[1:])
    return Request(method, target, {name.strip().lower(): value.strip() for name, _, value in pairs})


def write_reply(
    connection: socket.socket,
    request: Request,
    reply: Reply,
    *,
    paces: tuple[Pace, ...],
    count: Callable[[int], None],
) -> None:
    """Send head and body as the reply says; `count` hears of every payload byte that goes out."""
    if reply.mute:
        return
    connection.sendall(_head(reply))
    if request.method == "HEAD":
        return
    left = reply.cut if reply.cut is not None else reply.stop - reply.start
    for piece in _pieces(reply, paces):
        kept = piece[:left]
        left -= len(kept)
        if reply.payload:
            count(len(kept))  # first, so that who has the last byte finds all of them counted
        connection.sendall(_framed(kept, chunked=reply.chunked))
        for pace in paces:
            pace.wait(len(kept))
        if not left:
            break
    if reply.cut is None:
        connection.sendall((b"0\r\n\r\n" if reply.chunked else b"") + reply.extra)


def _head(reply: Reply) -> bytes:
    phrase = HTTPStatus(reply.status).phrase
    said = {"Date": formatdate(usegmt=True), "Server": "hostile"} | reply.headers
    lines = [f"HTTP/1.1 {reply.status} {phrase}", *(f"{name}: {value}" for name, value in said.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _pieces(reply: Reply, paces: tuple[Pace, ...]) -> Iterator[memoryview]:
    step = min((pace.step for pace in paces if pace.step is not None), default=None)
    for block in blocks(reply.whole, reply.start, reply.stop):
        view = memoryview(block)
        for offset in range(0, len(view), step or len(view)):
            yield view[offset : offset + (step or len(view))]


def _framed(piece: memoryview, *, chunked: bool) -> bytes | memoryview:
    if not chunked or not piece:
        return piece
    return b"%x\r\n%b\r\n" % (len(piece), bytes(piece))


def finish(connection: socket.socket, ending: Ending) -> bool:
    """Do with the connection what the reply says; True if it serves another request."""
    if ending is Ending.RESET:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
    elif ending is Ending.HALF_CLOSE:
        connection.shutdown(socket.SHUT_WR)
        _await_client(connection)
    elif ending is Ending.STALL:
        _await_client(connection)
    return ending is Ending.KEEP


def _await_client(connection: socket.socket) -> None:
    """Until the client hangs up, or the server's stop shuts the socket."""
    while connection.recv(HEAD_MAX):
        pass
