"""TLS over a connected socket. Imported only when an https request comes: plain HTTP never loads `ssl`."""

from __future__ import annotations

import functools
import socket
import ssl
from pathlib import Path

from cached.transfer.outcome import JobFault
from cached.transfer.protocol import Fault
from cached.transfer.stream import Origin, shut


class TlsStream:
    """See `cached.transfer.stream.Stream`. A record holds 16 KiB, so `receive` never brings more at once."""

    def __init__(self, sock: ssl.SSLSocket) -> None:
        self._socket = sock

    def send(self, data: bytes, *, timeout: float) -> None:
        """See `Stream.send`."""
        self._socket.settimeout(timeout)
        self._socket.sendall(data)

    def receive(self, into: memoryview, *, timeout: float) -> int:
        """See `Stream.receive`."""
        if timeout != self._socket.gettimeout():
            self._socket.settimeout(timeout)
        return self._socket.recv_into(into)

    receive_full = receive

    def is_quiet(self) -> bool:
        """See `Stream.is_quiet`."""
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)
        except ssl.SSLWantReadError:
            return True
        except OSError:
            return False
        return False

    def abort(self) -> None:
        """See `Stream.abort`. The plain socket is shut, since the TLS state belongs to the other thread."""
        shut(self._socket)

    def close(self) -> None:
        """See `Stream.close`."""
        self._socket.close()


def wrap(sock: socket.socket, origin: Origin, *, timeout: float) -> TlsStream:
    """Shake hands as a client of `origin.host`. Raises JobFault: TLS when the other side is not who it should be,
    CONNECT when it went away or took longer than `timeout` seconds.
    """
    try:
        context = _context(origin.ca_file, _modified(origin.ca_file))
        sock.settimeout(timeout)
        return TlsStream(context.wrap_socket(sock, server_hostname=origin.host))
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError, TimeoutError, ConnectionError) as error:
        sock.close()
        raise JobFault(Fault.CONNECT, f"no TLS handshake with {origin}: {error}") from error
    except (OSError, ValueError) as error:
        sock.close()
        raise JobFault(Fault.TLS, f"no trust in {origin}: {error}") from error


def _modified(ca_file: str | None) -> int:
    """A rotated bundle gets a context of its own, so authorities change without a restart."""
    return Path(ca_file).stat().st_mtime_ns if ca_file else 0


@functools.lru_cache(maxsize=16)
def _context(ca_file: str | None, modified: int) -> ssl.SSLContext:  # noqa: ARG001  part of the cache's key
    context = ssl.create_default_context(cafile=ca_file)
    context.set_alpn_protocols(["http/1.1"])
    return context
