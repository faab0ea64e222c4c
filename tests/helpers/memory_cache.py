"""An engine in memory: what the service needs of one (`cached.service.cache.Cache`), driven by the test."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from cached.api.types import Event, FileView, ModelDetail, ModelView, Removed, Status, Want
from cached.errors import Conflict, NotFound
from cached.layout import slug
from cached.types import Level, ModelName, State, TreeId, Uri

TREE = TreeId("ab" * 32)


@dataclass(frozen=True)
class Totals:
    """Counters that a test chooses."""

    fetched_bytes: int = 0
    reused_bytes: int = 0
    downloads_started: int = 0
    downloads_finished: dict[str, int] = field(default_factory=dict)
    retries: dict[str, int] = field(default_factory=dict)
    parts_done: int = 0
    worker_restarts: int = 0


def view(name: str = "m", /, **changes: object) -> ModelView:
    """A model that downloads."""
    base = ModelView(
        name=ModelName(name), uri=Uri("s3://b/m"), state=State.DOWNLOADING, path=f"/cache/models/{name}", files_total=2
    )
    return replace(base, **changes)


def ready(name: str = "m", /, **changes: object) -> ModelView:
    """A model in place."""
    base = view(name, state=State.READY, tree=TREE, verified=Level.DIGEST, bytes_total=10, bytes_done=10)
    return replace(base, **changes)


class MemoryCache:
    """Models by name; `put` changes one and tells those who watch."""

    def __init__(self) -> None:
        self.details: dict[ModelName, ModelDetail] = {}
        self.counters = Totals()
        self.failure: Exception | None = None
        """Raised by whatever is called next, and by streams."""
        self._bell = asyncio.Event()

    def put(self, model: ModelView, files: tuple[FileView, ...] = ()) -> None:
        self.details[model.name] = ModelDetail(model=model, files=files)
        self._ring()

    def fail(self, failure: Exception) -> None:
        self.failure = failure
        self._ring()

    async def submit(self, want: Want, *, move: bool = False) -> ModelView:
        self._check()
        name = want.name or slug(want.uri)
        old = self.details.get(name)
        if old and old.model.uri != want.uri and not move:
            raise Conflict(f"the name {name} stands for {old.model.uri}", hint="--move", details={"name": name})
        self.put(view(name, uri=want.uri, state=State.QUEUED))
        return self.details[name].model

    async def remove(self, name: ModelName) -> Removed:
        self.model(name)
        del self.details[name]
        self._ring()
        return Removed(name=name, bytes_freed=7)

    def models(self) -> tuple[ModelView, ...]:
        self._check()
        return tuple(detail.model for _, detail in sorted(self.details.items()))

    def model(self, name: ModelName) -> ModelDetail:
        self._check()
        if name not in self.details:
            raise NotFound(f"there is no model named {name}", hint="`cachectl ls` shows what is here")
        return self.details[name]

    async def events(self, name: ModelName) -> AsyncIterator[Event]:
        detail = self.model(name)
        while True:
            bell = self._bell
            self._check()
            removed = name not in self.details
            detail = self.details.get(name, detail)
            yield Event(model=detail.model, files=detail.files, removed=removed)
            if removed or detail.model.state in {State.READY, State.FAILED}:
                return
            await bell.wait()

    def status(self) -> Status:
        return Status(
            version="0",
            pid=0,
            root="/cache",
            socket="",
            port=0,
            uptime=0,
            ready=True,
            disk_total=1000,
            disk_free=400,
            bytes_blobs=300,
            bytes_partial=50,
            bytes_trash=20,
            bytes_quarantine=10,
            bytes_reserved=5,
            bytes_evictable=100,
            bytes_max=800,
            min_free=200,
            pressure=False,
            holders_stale=(),
            leases=2,
            pins=1,
            blobs=3,
            models=dict(Counter(str(detail.model.state) for detail in self.details.values())),
            workers=1,
            connections=4,
            fetched_total=self.counters.fetched_bytes,
        )

    def _check(self) -> None:
        if self.failure:
            raise self.failure

    def _ring(self) -> None:
        self._bell.set()
        self._bell = asyncio.Event()
