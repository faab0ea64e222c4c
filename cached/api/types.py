"""Requests and answers of the HTTP API: the same structs serve the server, the client, the command line
and (for Want) the disk. A program that talks to the daemon needs this package and the leaf modules, nothing else.
"""

from __future__ import annotations

import msgspec

from cached.errors import Code
from cached.types import Digest, Level, ModelName, State, TreeId, Uri


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
