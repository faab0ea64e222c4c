"""What the service needs of the engine, and whether it is there yet.

The servers come up before recovery is done and stay up while the engine stops, so that probes and callers get
an answer that says so. The service sees the engine through these protocols alone: its tests drive it with
one in memory.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from msgspec.structs import replace

from cached.api.types import Event, ModelDetail, ModelView, Removed, Status, Want
from cached.clock import Clock
from cached.errors import Code, Retryable
from cached.types import ModelName


class Counters(Protocol):
    """Totals since the start: bytes and counts."""

    @property
    def fetched_bytes(self) -> int: ...
    @property
    def reused_bytes(self) -> int: ...
    @property
    def downloads_started(self) -> int: ...
    @property
    def downloads_finished(self) -> Mapping[str, int]:
        """By outcome: `Ready`, or the reason of the failure."""
        ...

    @property
    def retries(self) -> Mapping[str, int]:
        """By fault."""
        ...

    @property
    def parts_done(self) -> int: ...
    @property
    def worker_restarts(self) -> int: ...


class Cache(Protocol):
    """The engine's use cases; see `cached.engine.engine.Engine`."""

    @property
    def counters(self) -> Counters: ...
    async def submit(self, want: Want, *, move: bool = False) -> ModelView: ...
    async def remove(self, name: ModelName) -> Removed: ...
    def models(self) -> tuple[ModelView, ...]: ...
    def model(self, name: ModelName) -> ModelDetail: ...
    def events(self, name: ModelName) -> AsyncIterator[Event]: ...
    def status(self) -> Status: ...


class Front:
    """The engine as the handlers reach it, and where the daemon listens."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started = clock.monotonic()
        self._cache: Cache | None = None
        self.waiting_for = "recovery is not done"
        self.socket = ""
        self.port = 0

    def open(self, cache: Cache) -> None:
        """Recovery is done: serve."""
        self._cache = cache

    def close(self) -> None:
        """The daemon stops: take no more work."""
        self._cache = None
        self.waiting_for = "the daemon is stopping"

    @property
    def ready(self) -> bool:
        """Whether requests are served."""
        return self._cache is not None

    @property
    def cache(self) -> Cache:
        """The engine. Raises Retryable (503) before it is ready and once it stops."""
        if self._cache is None:
            raise Retryable(
                f"the daemon does not serve now: {self.waiting_for}",
                code=Code.DAEMON_UNREACHABLE,
                hint="try again in a moment; /readyz on the port tells when",
                retry_after=1,
            )
        return self._cache

    def status(self) -> Status:
        """The engine's status, with what only the service knows."""
        return replace(
            self.cache.status(),
            pid=os.getpid(),
            socket=self.socket,
            port=self.port,
            uptime=self._clock.monotonic() - self._started,
        )
