"""One file on its way: what is asked for, in place, proved, and what went wrong. No I/O.

The scheduler drives it: `choose` a file for a free lane, `take` a range, then `landed`, `broke` or `lost`.

In-order digests (sha256, md5) live in one worker, the file's digest worker, and cover the bytes before
`digest_at`. A fetch that starts exactly there feeds them as it goes (inline); bytes placed by other lanes are read
back by a hash lane (follower). At most one job feeds them at a time (`feeding`).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from cached.errors import CachedError
from cached.sources.base import Entry, Listing, Source
from cached.store.ingest import Ingest
from cached.store.records import PartRecord
from cached.transfer.pieces import Pieces, Range
from cached.transfer.pool import Worker
from cached.transfer.protocol import Checksum, Done, Failed
from cached.types import Digest

HASH_CHUNK = 64 << 20
"""Bytes a follower reads per job: large enough to cost nothing, small enough to keep the lag bound."""


@dataclass(slots=True)
class Tally:
    """Live counters of one file, read by whoever shows progress. Bytes."""

    done: int = 0
    fetched: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileJob:
    """What the engine asks of the scheduler for one file."""

    source: Source
    listing: Listing
    entry: Entry
    ingest: Ingest
    expected: Digest | None
    """The sha256 that the user asked for."""
    order: int
    """Files of a lower number are begun first: the arrival of their model."""
    tally: Tally


@dataclass(frozen=True, slots=True)
class Take:
    """A range that a lane shall fetch."""

    range: Range
    ranged: bool
    digest: bool


@dataclass(slots=True, eq=False)
class FileState:
    """See the module. `hash_lag` in bytes."""

    number: int
    job: FileJob
    hash_lag: int
    entry: Entry
    checksum_algorithm: Checksum | None
    pieces: Pieces
    finished: asyncio.Future[None]
    ranges: bool
    unchecked: list[PartRecord] = field(default_factory=list)
    records: dict[int, PartRecord] = field(default_factory=dict)
    unjournaled: list[PartRecord] = field(default_factory=list)
    unjournaled_since: float = 0.0
    opened: set[Worker] = field(default_factory=set)
    digest_worker: Worker | None = None
    digest_at: int = 0
    feeding: bool = False
    owner: tuple[int, int] | None = None
    in_flight: int = 0
    live: dict[int, int] = field(default_factory=dict)
    failures: int = 0
    failed_at: float = 0.0
    refreshed: bool = False
    fresh: bool = False
    not_before: float = 0.0
    moved_at: float = 0.0
    restart: bool = False
    journaling: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __repr__(self) -> str:
        return f"<FileState {self.entry.path} {self.pieces!r} digest_at={self.digest_at} in_flight={self.in_flight}>"

    @property
    def what(self) -> str:
        """The file's name for messages."""
        return self.entry.path

    @property
    def started(self) -> bool:
        """Whether any lane has begun it."""
        return self.owner is not None

    def reopen(self) -> None:
        """It had ended, but its running digests died with their worker: they begin again from 0."""
        self.finished = asyncio.get_running_loop().create_future()
        self.unfeed()

    @property
    def over(self) -> bool:
        """Whether it ended, well or not."""
        return self.finished.done()

    def fetchable(self, now: float) -> bool:
        """Whether a lane may take a range of it now."""
        if self.over or self.restart or now < self.not_before:
            return False
        first = self.pieces.first_missing()
        if first is None:
            return False
        return first == self.pieces.prefix or first - self.digest_at <= self.hash_lag

    def idle(self, now: float) -> bool:
        """Whether it waits for a lane, or for its digests, and not for its source."""
        return self.in_flight == 0 and (self.fetchable(now) or self.feeding or bool(self.unchecked))

    def take(self, lane: tuple[int, int], worker: Worker) -> Take:
        """The next range for `lane`. Only after `fetchable`."""
        if self.owner is None:
            self.owner = lane
        if self.digest_worker is None:
            self.digest_worker = worker
        taken = self.pieces.take()
        assert taken is not None
        whole = taken.length == self.entry.size
        digest = taken.offset == self.digest_at and not self.feeding and worker is self.digest_worker
        self.feeding = self.feeding or digest
        self.in_flight += 1
        return Take(taken, ranged=self.ranges and not whole, digest=digest)

    def hashable(self) -> Range | None:
        """What a follower can feed to the digests now."""
        if self.over or self.restart or self.feeding or self.digest_worker is None:
            return None
        length = min(self.pieces.prefix - self.digest_at, HASH_CHUNK)
        return Range(self.digest_at, length) if length > 0 else None

    def fed(self, count: int) -> None:
        """The job that fed the digests ended after `count` bytes."""
        self.feeding = False
        self.digest_at += count

    def unfeed(self) -> None:
        """The running digests are gone, or cover bad bytes: they begin again from 0."""
        self.feeding = False
        self.digest_at = 0
        self.digest_worker = None

    def landed(self, where: Range, answer: Done | Failed, *, now: float) -> None:
        """`where` is in place with the sums that `answer` states."""
        record = PartRecord(offset=where.offset, length=where.length, xxh3=answer.xxh3, checksum=answer.checksum)
        self.pieces.place(where)
        self.records[where.offset] = record
        if not self.unjournaled:
            self.unjournaled_since = now
        self.unjournaled.append(record)

    def progressed(self, now: float) -> None:
        """Bytes arrived: patience starts anew."""
        self.moved_at = now
        self.failures = 0
        self.refreshed = False

    def failed(self, sent: float, now: float) -> bool:
        """A request of time `sent` failed. Whether that counts: lanes that all hear the same refusal at once have
        failed once, not each for itself.
        """
        if sent < self.failed_at:
            return False
        self.failed_at = now
        self.failures += 1
        return True

    def moved(self, job: int, count: int) -> None:
        """`count` more bytes of a job arrived."""
        self.live[job] = self.live.get(job, 0) + count
        self.job.tally.fetched += count
        self.refresh()

    def ended(self, job: int, received: int) -> None:
        """A job ended; `received` bytes of it arrived at least."""
        seen = self.live.pop(job, 0)
        self.job.tally.fetched += max(0, received - seen)
        self.refresh()

    def refresh(self) -> None:
        """Bring the tally up to date."""
        self.job.tally.done = min(self.entry.size, self.pieces.placed_bytes + sum(self.live.values()))

    def wipe(self) -> None:
        """Begin again from 0 as one stream: the server sends no ranges, or a stream broke off."""
        self.restart = False
        self.ranges = False
        self.pieces = Pieces(self.entry.size, max(self.entry.size, 1))
        self.records.clear()
        self.unchecked.clear()
        self.unjournaled.clear()
        self.unfeed()
        self.refresh()

    @property
    def unjournaled_bytes(self) -> int:
        """In place, but not yet in the journal: what a crash would cost."""
        return sum(each.length for each in self.unjournaled)

    @property
    def whole(self) -> bool:
        """Whether every byte is in place and in the digests, and no lane works on it."""
        return self.pieces.complete and self.digest_at == self.entry.size and not self.in_flight and not self.feeding

    def fail(self, error: CachedError) -> None:
        """End it with `error`, once."""
        if not self.over:
            self.finished.set_exception(error)


def choose(files: list[FileState], lane: tuple[int, int], now: float) -> FileState | None:
    """Which file `lane` works on next: its own in order; else one that nobody has begun, the earliest model's
    largest first; else the one with most left, the earliest model's first.

    As long as there are as many files as lanes, each lane so fetches whole files in order and hashes them
    inline, which costs no second read; only the tail is shared.
    """
    ready = [each for each in files if each.fetchable(now)]
    own = next((each for each in ready if each.owner == lane), None)
    if own is not None:
        return own
    new = min(
        (each for each in ready if not each.started),
        key=lambda each: (each.job.order, -each.entry.size, each.number),
        default=None,
    )
    if new is not None:
        return new
    shared = [each for each in ready if each.ranges]
    return max(shared, key=lambda each: (-each.job.order, each.pieces.missing_bytes), default=None)
