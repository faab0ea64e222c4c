"""A connected stream of bytes: plain TCP here, TLS in `cached.transfer.tls`. The two differ in how they wait.

Knows nothing of HTTP. Every wait has a limit that the caller gives.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from dataclasses import dataclass
from typing import Protocol

from cached.transfer.outcome import JobFault
from cached.transfer.protocol import Fault


@dataclass(frozen=True, slots=True)
class Origin:
    """What a connection may be reused for."""

    scheme: str
    host: str
    port: int
    ca_file: str | None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Stream(Protocol):
    """One connection. Any OSError ends it."""

    def send(self, data: bytes, *, timeout: float) -> None:
        """Send all of `data`. Raises OSError; TimeoutError after `timeout` seconds."""
        ...

    def receive(self, into: memoryview, *, timeout: float) -> int:
        """Put some bytes into `into`; 0 is the end of the stream. Raises OSError; TimeoutError after `timeout`
        seconds without a byte.
        """
        ...

    def receive_full(self, into: memoryview, *, timeout: float) -> int:
        """Like `receive`, but may wait up to `timeout` for `into` to become full."""
        ...

    def is_quiet(self) -> bool:
        """Whether it is open and nothing waits to be read: what a connection between two answers must be."""
        ...

    def abort(self) -> None:
        """End it for whoever waits on it, from another thread; `close` must still follow."""
        ...

    def close(self) -> None:
        """Close it, without waiting."""
        ...


class PlainStream:
    """TCP with the kernel's own timeouts: Python's would poll before every single recv.

    MSG_WAITALL fills a whole 1 MiB buffer in one call. With SO_RCVTIMEO the kernel counts the time that this
    call waited, and hands out what came.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._timeout = 0.0
        sock.settimeout(None)

    def send(self, data: bytes, *, timeout: float) -> None:
        """See `Stream.send`."""
        self._limit(timeout)
        try:
            self._socket.sendall(data)
        except BlockingIOError as error:
            raise TimeoutError from error

    def receive(self, into: memoryview, *, timeout: float) -> int:
        """See `Stream.receive`."""
        return self._receive(into, timeout, 0)

    def receive_full(self, into: memoryview, *, timeout: float) -> int:
        """See `Stream.receive_full`."""
        return self._receive(into, timeout, socket.MSG_WAITALL)

    def _receive(self, into: memoryview, timeout: float, flags: int) -> int:
        self._limit(timeout)
        try:
            return self._socket.recv_into(into, 0, flags)
        except BlockingIOError as error:
            raise TimeoutError from error

    def _limit(self, timeout: float) -> None:
        if timeout == self._timeout:
            return
        micros = max(1, int(timeout * 1_000_000))  # 0 would mean for ever
        span = struct.pack("@ll", micros // 1_000_000, micros % 1_000_000)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, span)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, span)
        self._timeout = timeout

    def is_quiet(self) -> bool:
        """See `Stream.is_quiet`."""
        try:
            self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def abort(self) -> None:
        """See `Stream.abort`."""
        shut(self._socket)

    def close(self) -> None:
        """See `Stream.close`."""
        self._socket.close()


def shut(sock: socket.socket) -> None:
    """End both directions of a socket that another thread may be waiting on."""
    with contextlib.suppress(OSError):  # it ended by itself meanwhile
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def connect(origin: Origin, *, timeout: float) -> Stream:
    """A fresh connection within `timeout` seconds, which its addresses share. Raises JobFault (CONNECT, TLS)."""
    deadline = time.monotonic() + timeout
    sock = _connect_any(origin, deadline)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if origin.scheme == "http":
        return PlainStream(sock)
    from cached.transfer.tls import wrap  # 10 ms and 3 MiB that plain HTTP never pays

    return wrap(sock, origin, timeout=max(0.001, deadline - time.monotonic()))


def _connect_any(origin: Origin, deadline: float) -> socket.socket:
    try:
        addresses = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise JobFault(Fault.CONNECT, f"cannot resolve {origin.host}: {error}") from error
    failure: OSError | None = None
    for left, (family, kind, protocol, _, address) in zip(range(len(addresses), 0, -1), addresses, strict=True):
        sock = socket.socket(family, kind, protocol)
        sock.settimeout(max(0.001, (deadline - time.monotonic()) / left))
        try:
            sock.connect(address)
        except OSError as error:
            sock.close()
            failure = error
        else:
            return sock
    raise JobFault(Fault.CONNECT, f"cannot connect to {origin}: {failure}") from failure
