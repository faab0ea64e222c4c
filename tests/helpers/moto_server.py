"""Starts moto's S3, in a thread of the test, for what SeaweedFS lacks: versions, archives, checksum types, KMS.

It checks no signatures and forgets everything when it stops. It knows nothing of cached.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass

from moto.moto_server.threaded_moto_server import ThreadedMotoServer


@dataclass(frozen=True, slots=True)
class Moto:
    """A running server."""

    endpoint: str


@contextlib.contextmanager
def moto_server() -> Iterator[Moto]:
    """A server until the block ends."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # it logs every request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield Moto(f"http://{host}:{port}")
    finally:
        server.stop()
        if server._server is not None:  # `stop` leaves the listening socket open
            server._server.server_close()
