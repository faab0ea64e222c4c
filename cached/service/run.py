"""`cached serve`: builds, wires, runs and shuts down everything, in that order."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import structlog

import cached
from cached import blocking, codec, fsops
from cached.clock import SystemClock
from cached.config import Config
from cached.engine.engine import Engine
from cached.errors import CachedError
from cached.layout import Layout
from cached.service import logs, server
from cached.service.cache import Front

T = TypeVar("T")

STOP_LIMIT = 30.0
"""Seconds. The engine gives parts in flight 5 s and then syncs its journals; what takes longer hangs."""

log = structlog.get_logger("cached.service")


class Endpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where a daemon listens: `<root>/endpoint.json`, and its one line on stdout."""

    socket: str
    port: int


def run(config: Config) -> None:
    """Serve until SIGTERM or SIGINT. Raises CachedError when the start fails or the engine does."""
    logs.configure()
    asyncio.run(_serve(config))


async def _serve(config: Config) -> None:
    stopping = _signals()
    front = Front(SystemClock())
    servers = await server.start(config, front)
    engine: Engine | None = None
    try:
        endpoint = Endpoint(socket=front.socket, port=front.port)
        _announce(endpoint)
        engine = await _unless(stopping, Engine.start(config), name="start")
        if engine is not None:
            await blocking.run(_record, Layout(Path(config.root)), endpoint)
            front.open(engine)
            log.info("ready", root=config.root)
            await _unless(stopping, engine.failed(), name="watch")
    finally:
        front.close()
        await servers.close()
        if engine is not None:
            await _stop(engine)
        log.info("stopped")


def _signals() -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT; the second ends the process at once."""
    stopping = asyncio.Event()

    def stop(number: int) -> None:
        if stopping.is_set():
            os._exit(128 + number)
        log.info("stopping", signal=signal.Signals(number).name)
        stopping.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    return stopping


def _announce(endpoint: Endpoint) -> None:
    sys.stdout.write(codec.encode(endpoint).decode() + "\n")
    sys.stdout.flush()
    log.info("listening", socket=endpoint.socket, port=endpoint.port, version=cached.__version__)


def _record(layout: Layout, endpoint: Endpoint) -> None:
    """For other programs of the node. Only the holder of the root's lock comes here."""
    fsops.write_file(layout.endpoint, codec.encode(endpoint) + b"\n")


async def _unless(stopping: asyncio.Event, work: Coroutine[Any, Any, T], *, name: str) -> T | None:
    """What `work` returns or raises; None when it was cut short by `stopping`."""
    task = asyncio.create_task(work, name=name)
    stop = asyncio.create_task(stopping.wait(), name="stop")
    await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
    return None if task.cancelled() else task.result()


async def _stop(engine: Engine) -> None:
    try:
        async with asyncio.timeout(STOP_LIMIT):
            await engine.stop()
    except TimeoutError as error:
        raise CachedError(
            f"the daemon did not stop within {STOP_LIMIT:.0f} s", hint="it resumes at the next start; report this"
        ) from error
