"""What the store holds at one moment, as plain values: what every decision about room is taken on.

Sizes in bytes, times in seconds since 1970 UTC.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from cached.types import Digest, IngestKey, ModelName, TreeId


class Keep(enum.StrEnum):
    """Why a tree stays."""

    LEASED = "leased"
    PINNED = "pinned"
    MOUNTED = "mounted"
    IN_FLIGHT = "in flight"
    """Published, and its name not yet recorded."""
    RECENT = "recent"
    """Used within `budget.grace`."""
    WANTED = "wanted"
    HOLDER_STALE = "holder stale"
    """A holder that renews its leases is silent: nobody knows what it reads."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One reason that keeps a tree. `who` names a lease's holder and id, a want's holder, ... for people."""

    why: Keep
    who: str


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """A download that nobody works on."""

    key: IngestKey
    size: int
    idle_since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """A blob that no tree links to and no download holds, or a file in quarantine, by its name there."""

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
