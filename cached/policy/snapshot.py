"""What the store holds at one moment, as plain values: what every decision about room is taken on.

Sizes in bytes, times in seconds since 1970 UTC.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from cached.types import Digest, IngestKey, ModelName, TreeId


class Keep(enum.StrEnum):
    """Why a tree stays, strongest reason first."""

    LEASED = "leased"
    PINNED = "pinned"
    MOUNTED = "mounted"
    IN_FLIGHT = "in flight"
    """Published, and its name not yet recorded; or a download is about to use it."""
    RECENT = "recent"
    """Used within `budget.grace`."""
    WANTED = "wanted"
    HOLDER_STALE = "holder stale"
    """A holder that renews its leases is silent: nobody knows what it reads."""

    @property
    def rank(self) -> int:
        """0 is the strongest."""
        return _RANKS[self]


_RANKS = {keep: rank for rank, keep in enumerate(Keep)}
_TEXTS = {
    Keep.LEASED: "leased by {}",
    Keep.PINNED: "pinned",
    Keep.MOUNTED: "mounted",
    Keep.IN_FLIGHT: "in use by a download",
    Keep.RECENT: "used {}",
    Keep.WANTED: "wanted by {}",
    Keep.HOLDER_STALE: "kept because {} is silent",
}


@dataclass(frozen=True, slots=True)
class Kept:
    """One reason that keeps a tree. `who` names a lease's holder and id, a want's holder, ... for people."""

    why: Keep
    who: str

    @property
    def text(self) -> str:
        """For people: `leased by csi csi-abc`."""
        return _TEXTS[self.why].format(self.who)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFacts:
    """A published tree. `blobs` has each of its blobs once."""

    tree: TreeId
    blobs: tuple[Digest, ...]
    names: tuple[ModelName, ...]
    """Names that keep it, also those that have moved on. None: an orphan."""
    used: float
    priority: int = 0
    """The highest of its wants; counts only when it is kept because it is wanted."""
    kept: tuple[Kept, ...] = ()
    """Strongest first. None: it may go."""

    @property
    def title(self) -> str:
        """What people call it."""
        return self.names[0] if self.names else f"tree {self.tree.short}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """A download that nobody works on."""

    key: IngestKey
    size: int
    idle_since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """A blob or a file in quarantine that no tree links to and no download holds; `id` is its name there."""

    id: str
    size: int
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All of it."""

    now: float
    trees: tuple[TreeFacts, ...]
    sizes: Mapping[Digest, int]
    """Of every blob."""
    links: Mapping[Digest, int]
    """How many trees have a blob, also those that are kept for readers alone; a blob that a download holds counts
    one more."""
    orphans: tuple[Stray, ...]
    """Blobs, since when nothing links to them; none younger than the grace."""
    partials: tuple[Partial, ...]
    quarantine: tuple[Stray, ...]
    used: int
    """`cached.store.records.Usage.used`."""
    reserved: int
    disk_total: int
    disk_free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The budget in bytes, of this file system."""

    max_bytes: int | None
    min_free: int
    keep: int
    journal: int
    """Kept free below `min_free` as well, so that the cache's own records can be written."""
