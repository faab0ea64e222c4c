"""The smallest server: for each connection a script of raw answers, sent as they are, one a request."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self


class RawServer:
    """Serves on 127.0.0.1. `connections[n]` are the answers that the nth connection gives before it closes. A
    context manager; `requests[n]` are the requests that it read, byte for byte.
    """

    def __init__(self, *connections: Sequence[bytes]) -> None:
        self._scripts = connections
        self.requests: list[list[bytes]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, name="raw-server")
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def _serve(self) -> None:
        for script in self._scripts:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                self._play(connection, script)

    def _play(self, connection: socket.socket, script: Sequence[bytes]) -> None:
        seen: list[bytes] = []
        self.requests.append(seen)
        for answer in script:
            request = b""
            while not request.endswith(b"\r\n\r\n"):
                piece = connection.recv(65536)
                if not piece:
                    return
                request += piece
            seen.append(request)
            connection.sendall(answer)
        connection.shutdown(socket.SHUT_WR)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):  # wakes accept(); it is not connected, so Linux says ENOTCONN
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
