"""The use cases, behind one door: submit, look, wait, remove.

Names are durable demands: a ref whose want is not placed is downloaded, also after a restart. All changes of
refs pass through one lock, so a name, its symlink and its tree change together or not at all.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog
from msgspec.structs import replace

import cached
from cached import blocking
from cached.api.types import Event, FileView, ModelDetail, ModelView, Removed, Status, Want
from cached.clock import Clock, SystemClock
from cached.config import Config
from cached.engine.downloads import Download, Downloads
from cached.engine.expect import against, unmet
from cached.engine.guard import Guard
from cached.engine.key import model_key
from cached.engine.names import pointed
from cached.engine.obtain import Obtained, Tools
from cached.engine.sealer import Sealer
from cached.engine.singles import Singles
from cached.engine.views import files_of, is_placed, view_of
from cached.errors import CachedError, Conflict, Corrupt, NotFound
from cached.layout import slug
from cached.sources.registry import Sources
from cached.store.records import Failure, Manifest, Placed, Ref
from cached.store.store import Store
from cached.transfer.scheduler import Scheduler
from cached.types import ModelName, State, TreeId

EVENT_PAUSE = 0.2
"""Seconds between two progress events of one stream."""

_ENDED = {State.READY, State.FAILED}
log = structlog.get_logger("cached.engine")


@dataclass(frozen=True, slots=True)
class Counters:
    """Totals since the start, for metrics. Bytes and counts."""

    fetched_bytes: int
    reused_bytes: int
    downloads_started: int
    downloads_finished: dict[str, int]
    """By outcome: `Ready`, or the reason of the failure."""
    retries: dict[str, int]
    """By fault."""
    parts_done: int
    worker_restarts: int


class Engine:
    """One cache. Create it with `start`."""

    def __init__(self, config: Config, store: Store, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._started = clock.monotonic()
        self.store = store
        self._sources = Sources(config)
        self._scheduler = Scheduler(config, clock)
        self._sealer = Sealer(store)
        self._guard = Guard()
        self._changing = asyncio.Lock()
        self._bell = asyncio.Event()
        self._manifests: dict[TreeId, Manifest] = {}
        self._unwritten: dict[ModelName, Ref] = {}
        """Refs whose failure could not be written. They end with the process: the next start tries again."""
        self._outcomes: Counter[str] = Counter()
        self._reused = 0
        tools = Tools(
            config=config,
            store=store,
            sources=self._sources,
            scheduler=self._scheduler,
            sealer=self._sealer,
            singles=Singles(),
            beginning=asyncio.Semaphore(2),
        )
        self._downloads = Downloads(tools, commit=self._commit, failed=self._fail)

    # ------------------------------------------------------------------ life

    @classmethod
    async def start(cls, config: Config, *, clock: Clock | None = None) -> Engine:
        """Lock and recover the root, start the workers, go on with what was wanted. Raises CachedError."""
        clock = clock or SystemClock()
        store = await blocking.run(
            Store.open,
            Path(config.root),
            allow_root_filesystem=config.allow_root_filesystem,
            allow_network_filesystem=config.allow_network_filesystem,
            budget=config.budget,
            leases=config.leases,
            clock=clock,
        )
        for warning in store.warnings:
            log.warning("root_warning", warning=warning)
        log.info("recovered", **asdict(store.recovered))
        engine = cls(config, store, clock)
        for name, work in engine._scheduler.tasks():
            engine._guard.start(name, work)
        engine._guard.start("sealer", engine._sealer.run())
        for ref in store.refs().values():
            if not is_placed(ref) and ref.failure is None:
                engine._downloads.demand(model_key(ref.want), ref.name, ref.want)
        return engine

    async def stop(self) -> None:
        """Stop taking work, let parts in flight end for 5 s, make journals durable, end the workers."""
        await self._scheduler.stop()
        await self._downloads.stop()
        await self._guard.stop()
        await self._sources.close()
        await blocking.run(self.store.close)

    async def failed(self) -> None:
        """Wait until something that must not end did. Raises CachedError with its reason; never returns."""
        await self._guard.failed()

    # ------------------------------------------------------------------ change

    async def submit(self, want: Want, *, move: bool = False) -> ModelView:
        """Take `want` as a durable demand and begin what it needs.

        Asked again for what is there, it asks no source. Raises Conflict when the name stands for another URI
        and not `move`; Corrupt when the model is here and its sha256 is not the one expected.
        """
        name = want.name or slug(want.uri)
        want = replace(want, name=name)
        self._sources.for_uri(want.uri)
        key = model_key(want)
        async with self._changing:
            old = self.store.ref(name)
            moves = old is not None and model_key(old.want) != key
            if old is not None and moves and not move:
                raise _in_use(old)
            ref = Ref(name=name, want=want, asked=self._clock.wall())
            ref = replace(ref, placed=old.placed, history=old.history) if old else ref
            ref = await self._satisfy(ref)
            # Recorded: only now may the old demand go, so that a refusal above leaves all as it was.
            if old is not None and moves:
                await self._downloads.withdraw(model_key(old.want), name)
            if not is_placed(ref):
                self._downloads.demand(key, name, want)
        self._ring()
        log.info("prefetch_asked", name=name, uri=want.uri)
        return self._view(ref)

    async def _satisfy(self, ref: Ref) -> Ref:
        """Record the ref, placed at once where the same content is here under this or another name."""
        key = model_key(ref.want)
        same = (each.placed for each in self.store.refs().values() if each.placed and each.placed.key == key)
        here = ref.placed if ref.placed and ref.placed.key == key else next(same, None)
        if here is not None:
            against(await self._manifest(here.tree), ref.want.sha256)
            if ref.placed != here:
                here = replace(here, bytes_fetched=0, bytes_reused=(await self._manifest(here.tree)).size)
            ref = pointed(ref, here, now=self._clock.wall())
            await blocking.run(self.store.touch, here.tree)
        await self._record(ref)
        return ref

    async def _record(self, ref: Ref) -> None:
        await blocking.run(self.store.put_ref, ref)
        self._unwritten.pop(ref.name, None)

    async def remove(self, name: ModelName) -> Removed:
        """Drop the name and its demand; what nothing else refers to goes at once. Raises NotFound."""
        async with self._changing:
            ref = self._ref(name)
            try:
                freed = await blocking.run(self.store.remove, name)
            finally:
                if self.store.ref(name) is None:
                    self._unwritten.pop(name, None)
                    await self._downloads.withdraw(model_key(ref.want), name)
            # What an unfinished name could go on from may be its own; another's stays as long as that is unfinished.
            unfinished = not is_placed(ref)
            if not len(self._downloads) and (unfinished or all(map(is_placed, self.store.refs().values()))):
                freed += await blocking.run(self.store.sweep)
        self._ring()
        log.info("model_removed", name=name, bytes_freed=freed)
        return Removed(name=name, bytes_freed=freed)

    # ------------------------------------------------------------------ the end of a download

    async def _commit(self, download: Download, found: Obtained) -> None:
        """Publish the tree and point every name at it that its content satisfies (steps 7 to 11)."""
        async with self._changing:
            wrong = {name: error for name, want in download.wants.items() if (error := unmet(found, want.sha256))}
            for name, error in wrong.items():
                await self._record_failure(name, error)
            names = [name for name in download.wants if name not in wrong]
            if names:
                placed = await self._publish(download, found)
                for name in names:
                    await self._point(name, placed)
                self._reused += download.progress.reused
            self._outcomes[State.READY if names else next(iter(wrong.values())).code] += 1
            self._downloads.end(download)
        self._ring()

    async def _publish(self, download: Download, found: Obtained) -> Placed:
        published = await blocking.run(self.store.publish, found.files)
        return Placed(
            tree=published.tree,
            key=download.key,
            uri=found.listing.uri,
            revision=found.listing.revision,
            rule=found.listing.rule,
            levels=dict(found.levels),
            copied=published.copied,
            bytes_fetched=download.progress.fetched,
            bytes_reused=download.progress.reused,
            notes=found.listing.notes,
            at=self._clock.wall(),
        )

    async def _point(self, name: ModelName, placed: Placed) -> None:
        await self._record(pointed(self._ref(name), placed, now=self._clock.wall()))
        await blocking.run(self.store.touch, placed.tree)
        log.info("model_ready", name=name, tree=placed.tree, fetched=placed.bytes_fetched, reused=placed.bytes_reused)

    async def _fail(self, download: Download, error: CachedError) -> None:
        """Record the failure for every name; but a name is not blamed for a sha256 that only another expected."""
        async with self._changing:
            path = error.details.get("path") if isinstance(error, Corrupt) else None
            blamed = [name for name, want in download.wants.items() if path in want.sha256] or list(download.wants)
            for name in blamed:
                await self._record_failure(name, error)
            self._outcomes[error.code] += 1
            self._downloads.end(download)
            for name, want in download.wants.items():
                if name not in blamed:
                    self._downloads.demand(download.key, name, want)
        self._ring()

    async def _record_failure(self, name: ModelName, error: CachedError) -> None:
        failure = Failure(code=error.code, message=error.message, hint=error.hint, at=self._clock.wall())
        log.warning("download_failed", name=name, code=error.code, message=error.message)
        ref = replace(self._ref(name), failure=failure)
        self._unwritten[name] = ref  # told at once, also where a full disk does not let it be written
        try:
            await self._record(ref)
        except CachedError as unwritten:
            log.warning("failure_not_recorded", name=name, code=unwritten.code, message=unwritten.message)

    # ------------------------------------------------------------------ look

    def models(self) -> tuple[ModelView, ...]:
        """Every model, by name."""
        return tuple(self._view(ref) for _, ref in sorted((self.store.refs() | self._unwritten).items()))

    def model(self, name: ModelName) -> ModelDetail:
        """One model with its files. Raises NotFound."""
        ref = self._ref(name)
        return ModelDetail(model=self._view(ref), files=self._files(ref))

    async def wait(self, name: ModelName) -> ModelView:
        """The model once it is Ready or Failed. Raises NotFound when there is none, or when it is removed."""
        while True:
            bell = self._bell
            view = self._view(self._ref(name))
            if view.state in _ENDED:
                return view
            await bell.wait()

    async def events(self, name: ModelName) -> AsyncIterator[Event]:
        """First a full snapshot, then what changed, until Ready, Failed or removed. Raises NotFound."""
        last: dict[str, FileView] = {}
        said: ModelView | None = None
        view = self._view(self._ref(name))
        while True:
            bell = self._bell
            ref = self._unwritten.get(name) or self.store.ref(name)
            if ref is None:
                yield Event(model=view, removed=True)
                return
            view, files = self._view(ref), {each.path: each for each in self._files(ref)}
            changed = tuple(each for path, each in files.items() if last.get(path) != each)
            if view != said or changed:
                yield Event(model=view, files=changed)
            if view.state in _ENDED:
                return
            last, said = files, view
            await self._pause(bell)

    async def _pause(self, bell: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(EVENT_PAUSE):
                await bell.wait()
        except TimeoutError:
            return

    def status(self) -> Status:
        """The cache in numbers; the service adds where it listens."""
        usage = self.store.usage()
        return Status(
            version=cached.__version__,
            pid=os.getpid(),
            root=self._config.root,
            socket=self._config.socket,
            port=self._config.port,
            uptime=self._clock.monotonic() - self._started,
            ready=True,
            disk_total=usage.disk_total,
            disk_free=usage.disk_free,
            bytes_blobs=usage.bytes_blobs,
            bytes_partial=usage.bytes_partial,
            bytes_trash=usage.bytes_trash,
            bytes_quarantine=usage.bytes_quarantine,
            bytes_reserved=usage.bytes_reserved,
            bytes_evictable=0,
            bytes_max=None,
            min_free=0,
            pressure=False,
            holders_stale=(),
            leases=0,
            pins=0,
            blobs=usage.blobs,
            models=dict(Counter(str(view.state) for view in self.models())),
            workers=len(self._scheduler.worker_pids),
            connections=self._config.transfer.connections * self._config.transfer.workers,
            fetched_total=self._downloads.fetched,
        )

    @property
    def counters(self) -> Counters:
        """Totals since the start."""
        return Counters(
            fetched_bytes=self._downloads.fetched,
            reused_bytes=self._reused,
            downloads_started=self._downloads.started,
            downloads_finished=dict(self._outcomes),
            retries=dict(self._scheduler.faults),
            parts_done=self._scheduler.parts_done,
            worker_restarts=self._scheduler.worker_restarts,
        )

    # ------------------------------------------------------------------ inside

    def _ring(self) -> None:
        self._bell.set()
        self._bell = asyncio.Event()

    def _ref(self, name: ModelName) -> Ref:
        ref = self._unwritten.get(name) or self.store.ref(name)
        if ref is None:
            raise NotFound(f"there is no model named {name}", hint="`cachectl ls` shows what is here")
        return ref

    async def _manifest(self, tree: TreeId) -> Manifest:
        if tree not in self._manifests:
            self._manifests[tree] = await blocking.run(self.store.manifest, tree)
        return self._manifests[tree]

    def _placed_manifest(self, placed: Placed) -> Manifest:
        """Read once and kept: manifests never change, and readers of `ls` must not wait for the disk."""
        if placed.tree not in self._manifests:
            self._manifests[placed.tree] = self.store.manifest(placed.tree)
        return self._manifests[placed.tree]

    def _view(self, ref: Ref) -> ModelView:
        download = self._downloads.get(model_key(ref.want))
        active = download is not None and ref.name in download.wants
        return view_of(
            ref,
            path=str(self.store.layout.model(ref.name)),
            bytes_total=self._placed_manifest(ref.placed).size if ref.placed else 0,
            progress=download.progress if download and active else None,
            running=bool(download and download.running),
        )

    def _files(self, ref: Ref) -> tuple[FileView, ...]:
        download = self._downloads.get(model_key(ref.want))
        if download is not None and ref.name in download.wants:
            return tuple(each.view() for each in download.progress.files.values())
        return files_of(self._placed_manifest(ref.placed), ref.placed) if ref.placed else ()


def _in_use(old: Ref) -> Conflict:
    return Conflict(
        f"the name {old.name} stands for {old.want.uri.shown}",
        hint="choose another --name, remove it (cachectl rm), or let the name move with --move",
        details={"name": old.name, "uri": old.want.uri.shown},
    )
