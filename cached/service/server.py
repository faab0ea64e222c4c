"""Both servers of the daemon, up from the first moment to the last; handlers ask `Front` whether to serve."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path
from socket import socket

from aiohttp import web

from cached.config import Config
from cached.service.api import Api
from cached.service.cache import Front
from cached.service.listen import tcp_socket, unix_socket
from cached.service.port import Port

GRACE = 1.0
"""Seconds that requests in flight get at the end; event streams end then, and their clients come back."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Running servers."""

    front: Front
    _runners: tuple[web.AppRunner, ...]

    async def close(self) -> None:
        """Stop listening, end what is in flight, remove the socket's file."""
        _remove(self.front.socket)
        await asyncio.gather(*(runner.cleanup() for runner in self._runners))


async def start(config: Config, front: Front) -> Servers:
    """Listen on the socket and the port of `config`, and tell `front` where. Raises CachedError."""
    with contextlib.ExitStack() as undo:
        local = undo.enter_context(unix_socket(Path(config.socket)))
        remote = undo.enter_context(tcp_socket(config.address, config.port))
        undo.pop_all()
    front.socket, front.port = config.socket, remote.getsockname()[1]
    runners = (await _run(Api(front).app(), local), await _run(Port(front).app(), remote))
    return Servers(front, runners)


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


async def _run(app: web.Application, listener: socket) -> web.AppRunner:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=GRACE)
    await runner.setup()
    await web.SockSite(runner, listener).start()
    return runner
