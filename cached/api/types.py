"""Requests and answers of the HTTP API: the same structs serve the server, the client, the command line
and (for Want) the disk. A program that talks to the daemon needs this package and the leaf modules, nothing else.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from cached.errors import Code
from cached.types import Digest, HolderName, LeaseId, LeaseKind, Level, ModelName, Namespace, State, TreeId, Uri


class Want(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What somebody wants to be on this node."""

    uri: Uri
    name: ModelName | None = None
    """Published as `models/<name>`; default a slug of the URI (`cached.layout.slug`)."""
    allow: tuple[str, ...] = ()
    """fnmatch patterns on relative paths; with any, only matching files are taken."""
    ignore: tuple[str, ...] = ()
    """fnmatch patterns on relative paths; matching files are left out, also of those allowed."""
    sha256: dict[str, Digest] = {}
    """Relative path to the digest that its content must have; a path that is not in the listing is an error."""
    namespace: Namespace | None = None
    """On whose behalf: its quota is charged. None is the operator, who has none."""
    priority: Annotated[int, msgspec.Meta(ge=-1000, le=1000)] = 0
    """Higher is downloaded first, and evicted last when others fill the disk."""
    deadline: float | None = None
    """When it should be here, in seconds since 1970 UTC: of equal priority the earlier is downloaded first."""
    pin: bool = False
    """Pin the name as well: it is not evicted before it is unpinned."""
    expires: float | None = None
    """Of an entry in a want-list: from then on it is not wanted, in seconds since 1970 UTC."""
    reason: str = ""
    """Who or what asked, for people."""


class FileView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One file of a model on its way or in place."""

    path: str
    size: int
    done: int
    """Bytes in place, fetched or reused."""
    reused: bool = False
    verified: Level | None = None


class ModelView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model by name, as `ls` shows it. Sizes in bytes, times in seconds since 1970 UTC."""

    name: ModelName
    uri: Uri
    state: State
    path: str
    """What to mount: `<root>/models/<name>`; exists only once state is Ready."""
    reason: Code | None = None
    message: str = ""
    hint: str = ""
    revision: str | None = None
    tree: TreeId | None = None
    verified: Level | None = None
    bytes_total: int = 0
    bytes_done: int = 0
    """In place so far, fetched or reused."""
    bytes_fetched: int = 0
    """Payload that came over the network for this download (also what was fetched again)."""
    bytes_reused: int = 0
    """Already on this node: linked, not fetched."""
    files_total: int = 0
    files_done: int = 0
    updated: float = 0.0
    notes: tuple[str, ...] = ()
    pinned: bool = False
    leases: int = 0
    """Leases that keep its tree on disk."""
    wanted_by: tuple[HolderName, ...] = ()
    used: float = 0.0
    """When it was last asked for, published or leased."""
    namespace: Namespace | None = None


class ModelDetail(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model with its files: answer of GET /v1/models/{name}."""

    model: ModelView
    files: tuple[FileView, ...]


class ModelList(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Answer of GET /v1/models."""

    models: tuple[ModelView, ...]


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of GET /v1/models/{name}/events. The first has every file; later ones the files that changed
    since. The stream ends by itself after a terminal state (Ready, Failed) or `removed`."""

    model: ModelView
    files: tuple[FileView, ...] = ()
    removed: bool = False


class LeaseAsk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Body of PUT /v1/leases/{id}: somebody reads a model, so it must stay. Exactly one of `name` and `tree`."""

    holder: HolderName
    kind: LeaseKind
    name: ModelName | None = None
    """Holds the tree that the name points to, every one that it points to later, and those that it has left after
    `since`."""
    tree: TreeId | None = None
    ttl: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Seconds until it ends by itself; None: it lasts until it is released."""
    since: float | None = None
    """When the reading began, in seconds since 1970 UTC, if that was before the lease: a container resolved the
    name when it started."""

    def __post_init__(self) -> None:
        if (self.name is None) == (self.tree is None):
            raise ValueError("a lease is of a name or of a tree: give one of `name` and `tree`")


class LeaseView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A lease. Times in seconds since 1970 UTC."""

    id: LeaseId
    holder: HolderName
    kind: LeaseKind
    name: ModelName | None = None
    trees: tuple[TreeId, ...] = ()
    """What it holds on disk. Empty while its name has no content yet."""
    taken: float
    expires: float | None = None


class HolderView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who holds leases, and whether the holders that the settings name have been heard of lately."""

    holder: HolderName
    leases: int
    expected: bool
    """Named in `leases.holders`: its silence keeps everything from being evicted."""
    silent_for: float | None = None
    """Seconds since its last complete list; None if it sent none since the start."""
    stale: bool = False


class LeaseList(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Answer of GET /v1/leases."""

    leases: tuple[LeaseView, ...]
    holders: tuple[HolderView, ...]


class HolderLeases(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Body of PUT /v1/holders/{holder}/leases: all that it holds. What is not in it is released."""

    leases: dict[LeaseId, LeaseAsk] = {}
    empty: bool = False
    """An empty list must say that it is meant: a list that got lost on the way must not release everything."""


class Renewed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Answer of PUT /v1/holders/{holder}/leases."""

    taken: tuple[LeaseId, ...] = ()
    """Leases that were not known before."""
    released: tuple[LeaseId, ...] = ()
    """Leases that the list no longer has: the holder forgot to release them."""
    missing: tuple[LeaseId, ...] = ()
    """Leases of content that is not here: they hold nothing yet, or too late."""


class PinView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A pinned name. `at` in seconds since 1970 UTC."""

    name: ModelName
    at: float


class PinList(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Answer of GET /v1/pins."""

    pins: tuple[PinView, ...]


class WantsAsk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Body of PUT /v1/wants/{holder}: all that it wants here. What it wanted before and no longer does may go."""

    wants: tuple[Want, ...] = ()
    empty: bool = False
    """An empty list must say that it is meant."""


class WantView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry of a want-list, and what became of it."""

    holder: HolderName
    want: Want
    name: ModelName
    model: ModelView | None = None
    """None if it was refused."""
    reason: Code | None = None
    """Why it was refused, such as Conflict: the name stands for another holder's URI."""
    message: str = ""


class WantsView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Answer of PUT /v1/wants/{holder} (its own) and GET /v1/wants (everybody's)."""

    wants: tuple[WantView, ...]


class GcAsk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Body of POST /v1/gc."""

    dry_run: bool = False
    free: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Bytes to free; None: everything that nobody needs goes."""


class GcItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Something that goes, or stays. `kind`: tree, blob, partial or quarantine."""

    kind: str
    id: str
    names: tuple[ModelName, ...] = ()
    bytes: int
    """What it frees, given what goes before it; of what stays, its own size."""
    used: float = 0.0
    """When it was last used, in seconds since 1970 UTC."""
    why: tuple[str, ...] = ()
    """Why it goes, or each reason that keeps it."""


class GcView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Answer of POST /v1/gc: what went (or with dry_run: would go), what stayed and why. Bytes."""

    dry_run: bool
    goal: int | None
    freed: int
    goes: tuple[GcItem, ...]
    stays: tuple[GcItem, ...]


class VerifyAsk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Body of POST /v1/verify: read the model, or all of them, and compare with the sha256."""

    name: ModelName | None = None
    repair: bool = False
    """Move what is damaged to quarantine and fetch it again."""


class Damage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Something that is not as it was published."""

    what: str
    """A path below the root."""
    problem: str
    names: tuple[ModelName, ...] = ()
    """Models that have it."""
    repaired: bool = False
    """It was taken out of service, and a new copy is being fetched."""


class VerifyEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of the answer of POST /v1/verify: progress, new damage. The last one says `finished`."""

    blobs_done: int
    blobs_total: int
    bytes_done: int
    bytes_total: int
    damage: tuple[Damage, ...] = ()
    """Found since the line before."""
    finished: bool = False


class CheckView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One check of GET /v1/doctor. `verdict`: ok, warn or fail."""

    check: str
    verdict: str
    found: str
    remedy: str = ""
    """What mends it; empty when it is ok."""


class DoctorView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Answer of GET /v1/doctor."""

    checks: tuple[CheckView, ...]


class Removed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Answer of DELETE /v1/models/{name}."""

    name: ModelName
    bytes_freed: int
    """What went at once, because nothing else refers to it."""


class Status(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Answer of GET /v1/status."""

    version: str
    pid: int
    root: str
    socket: str
    port: int
    uptime: float
    """Seconds since the start."""
    ready: bool
    disk_total: int
    disk_free: int
    bytes_blobs: int
    """Content stored, each blob once."""
    bytes_partial: int
    """Preallocated for downloads that are not done."""
    bytes_trash: int
    """Taken out of service and not yet removed."""
    bytes_quarantine: int
    """Damaged content, kept for a person to look at."""
    bytes_reserved: int
    """Promised to downloads that have not taken it yet."""
    bytes_evictable: int
    """What would go if room were needed."""
    bytes_max: int | None
    """`budget.max_bytes` in bytes; None without a limit."""
    min_free: int
    """`budget.min_free` in bytes."""
    pressure: bool
    """Others fill the disk, and there is nothing left to evict: no new download begins."""
    holders_stale: tuple[HolderName, ...]
    """Holders that are silent: nothing published is evicted."""
    leases: int
    pins: int
    blobs: int
    models: dict[str, int]
    """Number of models by state."""
    workers: int
    connections: int
    fetched_total: int
    """Payload bytes fetched since the start."""


class ErrorBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Body of every error answer."""

    code: Code
    message: str
    hint: str = ""
    details: dict[str, str | int] = {}
