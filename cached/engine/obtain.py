"""One download from beginning to end: resolve, plan, link what is here, fetch the rest, commit.

It owns nothing that outlives it: the ingests it opened are sealed, kept for a resume, or dropped when it ends,
however it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from cached import blocking
from cached.config import Config
from cached.engine.plan import Known, Plan, check_expected, make_plan
from cached.engine.progress import Progress
from cached.engine.sealer import Sealer
from cached.engine.singles import Singles
from cached.errors import Corrupt, InsufficientSpace, Retryable, SourceChanged
from cached.layout import check_tree_paths
from cached.sources.base import Entry, Listing, Source
from cached.sources.patterns import select
from cached.sources.registry import Sources
from cached.store.holds import Hold
from cached.store.ingest import Ingest
from cached.store.records import ManifestFile, ingest_key
from cached.store.space import Reservation
from cached.store.store import Store
from cached.store.structure import check_structure
from cached.transfer.filestate import FileJob
from cached.transfer.finish import Fetched
from cached.transfer.retry import disk_error
from cached.transfer.scheduler import Scheduler
from cached.types import Digest, Level, Uri

CHANGES_MAX = 3
"""Times that a source may change under one download before it fails."""
OPEN_FILES = 256
"""Files of one download that are open at a time: as many as one group seal takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a download works with."""

    config: Config
    store: Store
    sources: Sources
    scheduler: Scheduler
    sealer: Sealer
    singles: Singles
    beginning: asyncio.Semaphore
    """Two at a time: more threads that create files in one folder only spin on its lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What to obtain. `expected` are sha256 by path; downloads of a lower `order` are served first."""

    uri: Uri
    allow: tuple[str, ...]
    ignore: tuple[str, ...]
    expected: Mapping[str, Digest]
    order: int
    withdrawn: Callable[[], bool]
    """Whether nobody wants it any more, so that nothing need be kept for a resume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Obtained:
    """A model whose blobs are all here, for `commit` to publish."""

    listing: Listing
    files: Sequence[ManifestFile]
    levels: Mapping[str, Level]


Commit = Callable[[Obtained], Awaitable[None]]


async def obtain(tools: Tools, ask: Ask, progress: Progress, commit: Commit) -> None:
    """Bring a model here and `commit` it. Raises CachedError; then nothing was published.

    A source that changes meanwhile is resolved again, at most three times: never a mix of two versions.
    """
    for attempt in range(1, CHANGES_MAX + 1):
        try:
            await _Run(tools, ask, progress).go(commit)
        except SourceChanged:
            if attempt == CHANGES_MAX:
                raise
        else:
            return


class _Run:
    """One try: one listing."""

    def __init__(self, tools: Tools, ask: Ask, progress: Progress) -> None:
        self._tools = tools
        self._ask = ask
        self._progress = progress
        self._found: dict[str, Known] = {}

    async def go(self, commit: Commit) -> None:
        source, listing = await self._resolve()
        self._progress.begin(listing)
        with self._tools.store.hold() as hold:
            known = await blocking.run(_look_up, self._tools.store, hold, listing, self._ask.expected)
            plan = make_plan(listing, known)
            for entry, here in plan.reuse:
                self._place(entry, here, reused=True)
            await self._fetch_all(source, listing, plan, hold)
            await commit(self._obtained(listing))

    async def _resolve(self) -> tuple[Source, Listing]:
        source, listing = await self._tools.sources.resolve(self._ask.uri)
        chosen = select(listing.entries, allow=self._ask.allow, ignore=self._ask.ignore)
        check_tree_paths((entry.path for entry in chosen), folds=self._tools.store.folds)
        listing = replace(listing, entries=tuple(chosen))
        check_expected(listing, self._ask.expected)
        return source, listing

    async def _fetch_all(self, source: Source, listing: Listing, plan: Plan, hold: Hold) -> None:
        open_files = asyncio.Semaphore(OPEN_FILES)

        async def one(entry: Entry, reservation: Reservation) -> None:
            async with open_files:
                await self._file(_File(source, listing, entry), plan, hold, reservation)

        needed = sum(entry.size - self._allocated(listing, entry) for entry in plan.fetch)
        with await self._admit(needed) as reservation:
            await _all([one(entry, reservation) for entry in plan.fetch])

    async def _admit(self, needed: int) -> Reservation:
        """Partials that nobody works on give way: a download that could go on must not keep another from beginning."""
        admit = partial(self._tools.store.admit, needed)
        try:
            return await blocking.acquire(admit, release=Reservation.release)
        except InsufficientSpace:
            if not await blocking.run(self._tools.store.drop_partials):
                raise
        return await blocking.acquire(admit, release=Reservation.release)

    def _allocated(self, listing: Listing, entry: Entry) -> int:
        return self._tools.store.allocated(listing.source_id, entry.pin.validator, entry.size)

    async def _file(self, file: _File, plan: Plan, hold: Hold, reservation: Reservation) -> None:
        """Bring one file here, and with it those of the same upstream identity."""
        here, identified = await self._one(file, hold, reservation)
        for twin in plan.twins.get(file.entry.path, ()):
            if identified:
                await blocking.run(_check_linked, self._tools.store, twin, here)
                self._place(twin, _as_twin(twin, here, self._ask.expected), reused=True)
            else:  # its answer said that the ETag is no identity after all (SSE-KMS)
                await self._one(_File(file.source, file.listing, twin), hold, reservation)

    async def _one(self, file: _File, hold: Hold, reservation: Reservation) -> tuple[Known, bool]:
        """Bring one file here. Returns what it is, and whether its upstream identity is still one."""
        entry, listing = file.entry, file.listing
        key = ingest_key(source_id=listing.source_id, pin=entry.pin.validator, size=entry.size)
        async with self._tools.singles.alone(key) as waited:
            # Another model may have brought the same object while this one waited for its turn.
            here = await blocking.run(self._look_again, listing, entry, hold) if waited else None
            if here is not None:
                self._place(entry, here, reused=True)
                return here, True
            fetched = await self._fetch(file, hold, reservation)
            here = Known(fetched.digest, fetched.level)
            self._place(entry, here, reused=False)
            return here, entry.sha256 is not None or fetched.entry.alias == entry.alias

    async def _fetch(self, file: _File, hold: Hold, reservation: Reservation) -> Fetched:
        """Fetch and seal one file. Bytes that are not what was promised are fetched once more, whole."""
        ingest = await self._begin(file, reservation)
        try:
            fetched = await self._fetch_into(file, ingest, again=True)
            await blocking.run(_check, file.entry.path, ingest.path)
            hold.add(fetched.digest)  # before it has its name: from then on it stays until the commit
            await self._tools.sealer.seal(ingest, fetched.digest, _identities(file.listing, fetched))
        except (Retryable, asyncio.CancelledError) as error:
            useless = isinstance(error, SourceChanged) or self._ask.withdrawn()
            await blocking.run(ingest.discard if useless else partial(_leave, ingest))
            raise
        except BaseException:
            await blocking.run(ingest.discard)
            raise
        return fetched

    async def _begin(self, file: _File, reservation: Reservation) -> Ingest:
        entry, allocated = file.entry, self._allocated(file.listing, file.entry)
        async with self._tools.beginning:
            begin = partial(
                self._tools.store.begin_ingest,
                file.listing.source_id,
                entry.pin.validator,
                entry.size,
                resumable=entry.ranges and entry.size > self._tools.config.transfer.part,
            )
            ingest = await blocking.acquire(begin, release=_leave)
        reservation.use(entry.size - allocated)
        return ingest

    async def _fetch_into(self, file: _File, ingest: Ingest, *, again: bool) -> Fetched:
        entry = file.entry
        try:
            return await self._tools.scheduler.fetch(
                FileJob(
                    source=file.source,
                    listing=file.listing,
                    entry=entry,
                    ingest=ingest,
                    expected=self._ask.expected.get(entry.path),
                    order=self._ask.order,
                    tally=self._progress.files[entry.path].tally,
                )
            )
        except Corrupt:
            if not again:
                raise
        await blocking.run(ingest.restart)
        return await self._fetch_into(file, ingest, again=False)

    def _look_again(self, listing: Listing, entry: Entry, hold: Hold) -> Known | None:
        only = replace(listing, entries=(entry,))
        return _look_up(self._tools.store, hold, only, self._ask.expected).get(entry.path)

    def _place(self, entry: Entry, here: Known, *, reused: bool) -> None:
        self._found[entry.path] = here
        self._progress.files[entry.path].finish(here.level, reused=reused)

    def _obtained(self, listing: Listing) -> Obtained:
        return Obtained(
            listing=listing,
            files=[ManifestFile(entry.path, entry.size, self._found[entry.path].digest) for entry in listing.entries],
            levels={path: here.level for path, here in self._found.items()},
        )


@dataclass(frozen=True, slots=True)
class _File:
    source: Source
    listing: Listing
    entry: Entry


def _leave(ingest: Ingest) -> None:
    """Keep what a later try goes on from; one that has nothing yet gives its space back. Raises CachedError."""
    if ingest.parts:
        ingest.close()
    else:
        ingest.discard()


def _identities(listing: Listing, fetched: Fetched) -> list[tuple[str, str, str]]:
    """The upstream identities by which a new blob may be linked again: that is also the right to do so."""
    found = [fetched.entry.alias] if fetched.entry.alias else []
    if fetched.level is Level.DIGEST:  # else nobody asks by it, and each costs three metadata operations
        found.append(("sha256", fetched.digest))
    return [(listing.rule, kind, value) for kind, value in found]


def _look_up(store: Store, hold: Hold, listing: Listing, expected: Mapping[str, Digest]) -> dict[str, Known]:
    """What may be linked: obtained before through the same source rule, and from now on held."""
    known: dict[str, Known] = {}
    for entry in listing.entries:
        found = _known(store, listing.rule, entry, expected.get(entry.path))
        if found is not None and hold.add(found.digest):
            _check_linked(store, entry, found)
            known[entry.path] = found
    return known


def _check_linked(store: Store, entry: Entry, here: Known) -> None:
    """A linked file is held to its name too: the bytes may be here under one that promises less. Raises Corrupt."""
    _check(entry.path, store.layout.blob(here.digest))


def _check(path: str, file: Path) -> None:
    try:
        check_structure(path, file)
    except OSError as error:
        raise disk_error(error.errno or 0, path) from error


def _known(store: Store, rule: str, entry: Entry, expected: Digest | None) -> Known | None:
    promised = expected or entry.sha256
    if promised is not None:
        held = store.find_alias(rule, "sha256", promised, entry.size)
        return Known(promised, Level.DIGEST) if held == promised else None
    found = store.find_alias(rule, *entry.alias, entry.size) if entry.alias else None
    return Known(found, Level.ALIAS) if found else None


def _as_twin(entry: Entry, here: Known, expected: Mapping[str, Digest]) -> Known:
    promised = expected.get(entry.path) or entry.sha256
    if promised is None:
        return Known(here.digest, Level.ALIAS)
    if promised != here.digest:
        raise Corrupt(
            f"{entry.path} is not what was promised: the sha256 is {promised}, the bytes have {here.digest}",
            details={"path": entry.path, "expected": promised, "found": here.digest},
        )
    return Known(here.digest, Level.DIGEST)


async def _all(work: Sequence[Awaitable[None]]) -> None:
    """Await all; when one fails, cancel the others, wait until they have cleaned up, raise the first error."""
    tasks = [asyncio.ensure_future(each) for each in work]
    if not tasks:
        return
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
