"""What lies on disk, as frozen structs. docs/on-disk-format.md is this module for people.

Each decodes strictly: an unknown field is damage, and damage is a miss, never an authority.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from cached import codec
from cached.api.types import Want
from cached.errors import Code
from cached.types import Digest, HolderName, IngestKey, LeaseId, LeaseKind, Level, ModelKey, ModelName, TreeId

T = TypeVar("T")


class Version(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`VERSION`: which layout this root has, and a name for it that no other root has."""

    layout: int
    uuid: str


class ManifestFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"digest": "sha256"}):
    """One file of a tree. `path` is relative and checked by `cached.layout.check_tree_paths`."""

    path: str
    size: int
    digest: Digest


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`manifests/<tree>.json`: what a tree holds, sorted by path. Where it came from belongs to refs."""

    files: tuple[ManifestFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def encode(self) -> bytes:
        """The canonical JSON that is on disk."""
        return codec.canonical(self)

    @property
    def tree(self) -> TreeId:
        """The identity of the tree: sha256 of the canonical JSON."""
        return TreeId(hashlib.sha256(self.encode()).hexdigest())


def manifest_of(files: Iterable[ManifestFile]) -> Manifest:
    """The manifest of these files in any order."""
    return Manifest(files=tuple(sorted(files, key=lambda file: file.path)))


class PartRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A range of an ingest's data that is on disk and was sound when written. Bytes; `xxh3` is xxh3-128 in 32
    hex; `checksum` the source's CRC of the range, if it uses one. A range, not an index: two requests may
    have finished one part."""

    offset: int
    length: int
    xxh3: str
    checksum: int | None = None


class IngestMeta(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`ingest/<key>/meta.json`: what is being fetched, and which generation of files holds it."""

    source_id: str
    pin: str
    size: int
    generation: str

    @property
    def key(self) -> IngestKey:
        """The name of the ingest's folder."""
        return ingest_key(source_id=self.source_id, pin=self.pin, size=self.size)


def ingest_key(*, source_id: str, pin: str, size: int) -> IngestKey:
    """One upstream object in one version: sha256 of the canonical JSON of the three."""
    return IngestKey(hashlib.sha256(codec.canonical([source_id, pin, size])).hexdigest())


class Alias(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`aliases/<key>.json`: an upstream identity, once seen on bytes that were hashed here."""

    rule: str
    kind: str
    value: str
    size: int
    digest: Digest

    @property
    def key(self) -> str:
        """The file's name: sha256 of the canonical JSON of all but the digest."""
        return hashlib.sha256(codec.canonical([self.rule, self.kind, self.value, self.size])).hexdigest()


class Placed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tree a name points to, and how it came to be. Times in seconds since 1970 UTC, sizes in bytes."""

    tree: TreeId
    key: ModelKey
    """Of the want it satisfied."""
    uri: str
    revision: str
    rule: str
    """The source rule it was obtained through."""
    levels: dict[str, Level]
    """By path."""
    copied: tuple[str, ...] = ()
    """Paths that are private copies, not links, because their blob had as many links as the disk allows."""
    bytes_fetched: int = 0
    bytes_reused: int = 0
    notes: tuple[str, ...] = ()
    at: float = 0.0


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Why the last try did not reach the want."""

    code: Code
    message: str
    hint: str = ""
    at: float = 0.0


class Held(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tree that the name points to (`until` is None), or did from `since` to `until`."""

    tree: TreeId
    since: float
    until: float | None = None


class Evicted(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tree that a name had before it was evicted. The name outlives it."""

    tree: TreeId
    reason: str
    """`space`, `pressure` or `gc`; see `cached.policy.evict.Cause`."""
    at: float


class Ref(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`refs/<name>.json`: what a name is wanted to be, and what it is.

    One without `placed`, or whose `placed.key` is not the want's, is a durable demand: the engine resumes it, unless
    it was evicted.
    """

    name: ModelName
    want: Want
    asked: float
    standing: bool = True
    """Somebody asked for the name itself. False: it is here for want-lists alone, and an unfinished one goes with the
    last of them."""
    placed: Placed | None = None
    evicted: Evicted | None = None
    """Set when its tree was evicted, until it is asked for again; then `placed` is None."""
    failure: Failure | None = None
    history: tuple[Held, ...] = ()

    @property
    def trees(self) -> frozenset[TreeId]:
        """Every tree that this name keeps on disk."""
        placed = {self.placed.tree} if self.placed else set()
        return frozenset(placed | {held.tree for held in self.history})


class Lease(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`leases/<id>.json`. `trees` are all that it holds: of a lease by name, those that the name has pointed to since.
    Times in seconds since 1970 UTC."""

    id: LeaseId
    holder: HolderName
    kind: LeaseKind
    name: ModelName | None = None
    trees: tuple[TreeId, ...] = ()
    taken: float
    expires: float | None = None


class Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`pins/<name>.json`: the tree that the name points to is not evicted."""

    name: ModelName
    at: float


class WantList(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`wants/<holder>.json`: all that a holder wants here, as it said last. Every want has its name."""

    holder: HolderName
    wants: tuple[Want, ...]
    at: float


@dataclass(frozen=True, slots=True)
class Published:
    """What `publish` made or found. `copied` are the paths that are private copies of their blob."""

    tree: TreeId
    copied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Sizes in bytes."""

    blobs: int
    bytes_blobs: int
    bytes_partial: int
    """Allocated for downloads that are not done."""
    bytes_trash: int
    bytes_quarantine: int
    bytes_reserved: int
    """Promised to downloads and not yet allocated."""
    disk_total: int
    disk_free: int

    @property
    def used(self) -> int:
        """What `budget.max_bytes` limits, without reservations."""
        return self.bytes_blobs + self.bytes_partial + self.bytes_trash + self.bytes_quarantine


def read_named(folder: Path, kind: type[T], path_of: Callable[[T], Path]) -> tuple[tuple[T, ...], tuple[Path, ...]]:
    """Every record in a folder, in the order of their names, and the files named like one that are damaged or not
    called what `path_of` says of their content. Hidden names belong to work in progress. Raises OSError.
    """
    found, damaged = [], []
    for path in sorted(folder.glob("*.json")):
        if path.name.startswith("."):
            continue
        record = read_record(path, kind)
        if record is None or path_of(record) != path:
            damaged.append(path)
        else:
            found.append(record)
    return tuple(found), tuple(damaged)


def read_record(path: Path, kind: type[T]) -> T | None:
    """The record in a file; None if it is missing or damaged. Raises OSError."""
    try:
        return codec.decode(path.read_bytes(), kind)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
