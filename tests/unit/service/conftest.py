from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest

from cached.api.client import Client
from cached.clock import SystemClock
from cached.config import Config
from cached.service import server
from cached.service.cache import Front
from tests.helpers.memory_cache import MemoryCache

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Reply:
    """A raw answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value


@dataclass(frozen=True)
class Service:
    """Both servers, and an engine in memory behind them."""

    front: Front
    cache: MemoryCache
    client: Client
    servers: server.Servers

    async def do(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the blocking client from a thread: the servers need the loop."""
        return await asyncio.to_thread(function, *args, **kwargs)

    async def ask(self, method: str, target: str, body: bytes | None = None) -> Reply:
        """A raw request to the socket."""
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(self.client.socket))
        return await asyncio.to_thread(_exchange, sock, method, target, body)

    async def get(self, target: str) -> Reply:
        """A raw request to the port."""
        sock = socket.create_connection(("127.0.0.1", self.front.port))
        return await asyncio.to_thread(_exchange, sock, "GET", target, None)


def _exchange(sock: socket.socket, method: str, target: str, body: bytes | None) -> Reply:
    connection = http.client.HTTPConnection("localhost", timeout=10)
    connection.sock = sock
    try:
        connection.request(method, target, body)
        response = connection.getresponse()
        return Reply(response.status, {key.lower(): value for key, value in response.getheaders()}, response.read())
    finally:
        connection.close()


@pytest.fixture
async def starting(tmp_path: Path) -> AsyncIterator[Service]:
    """Up, but recovery is not done."""
    front = Front(SystemClock())
    path = tmp_path / "run" / "cached.sock"
    servers = await server.start(Config(root=str(tmp_path), socket=str(path), port=0), front)
    yield Service(front, MemoryCache(), Client(path), servers)
    await servers.close()


@pytest.fixture
async def service(starting: Service) -> Service:
    """Ready."""
    starting.front.open(starting.cache)
    return starting
