"""What a source is: it turns a URI into an immutable listing, and an entry's byte range into a request.

A source never moves payload and never touches the store. This module is imported by worker processes, so it
imports no SDK.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar, Protocol

import msgspec

from cached.types import Digest, Uri


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One signed GET of payload, complete: a worker sends exactly these bytes.

    It travels to workers through a pipe, never through argv. `headers` may hold credentials, so `repr` and
    logs show none of them. A `file` request (scheme `file`) reads `target` as a local path.
    """

    scheme: str
    """`http`, `https` or `file`."""
    host: str = ""
    """Host name or address; an IPv6 address without brackets."""
    port: int = 0
    target: str
    """Path and query exactly as on the wire (percent-encoded once); for `file` the local path."""
    headers: tuple[tuple[str, str], ...] = ()
    """In order, with `Host`; without `Range`, `Connection` and `Accept-Encoding`, unless `Range` is signed."""
    ca_file: str | None = None

    def __repr__(self) -> str:
        return f"Request({self.scheme}://{self.host}:{self.port}{self.target.partition('?')[0]})"


class Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What makes an upstream object this very version; every request and answer is held to it.

    `etag` is compared with the ETag of each answer. `validator` is the canonical text that identity, resume
    and the revision are built from: the version id if there is one, else the ETag, else for `file`
    `<device>:<inode>:<size>:<mtime ns>:<ctime ns>`, which is also its `etag`.
    """

    validator: str
    etag: str | None = None
    version: str | None = None


def file_validator(found: os.stat_result) -> str:
    """What pins a local file: `<device>:<inode>:<size>:<mtime ns>:<ctime ns>`."""
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One file of a listing."""

    path: str
    """Relative, and literally what the source calls it: `cached.layout.check_tree_paths` has not seen it yet."""
    size: int
    pin: Pin
    locator: str
    """What the source needs to find it again: the raw key for s3, the URL for https, the path for file."""
    ranges: bool = True
    """False where the server gives no strong validator or no ranges: one stream from 0, no resume."""
    sha256: Digest | None = None
    """Promised by the source itself, if it publishes one."""
    md5: str | None = None
    """32 hex: believed to be the MD5 of the content (single-part ETag), unless an answer's headers say otherwise."""
    checksum: tuple[str, str] | None = None
    """(algorithm, base64 value as the source prints it): a FULL_OBJECT checksum; crc32, crc32c or crc64nvme."""
    alias: tuple[str, str] | None = None
    """(kind, value) of an upstream identity that may recognise these bytes later, such as (etag, ...)."""


class Listing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a URI resolved to, once. Paths are unique and sorted. They are checked by whoever takes a selection of
    them: a name that cannot be stored, or clashes, may be left out by a pattern."""

    uri: Uri
    entries: tuple[Entry, ...]
    revision: str
    """Shown to people: 12 or more characters that change when any pin changes."""
    source_id: str
    """Canonical id of the place (endpoint and bucket, host, ...): part of every ingest key."""
    rule: str
    """The source rule it was obtained through: the domain of trust of its aliases."""
    notes: tuple[str, ...] = ()
    """Said to the user, such as that both an object and a folder of that name exist."""


class Source(Protocol):
    """The contract; tests/contract runs one suite on every implementation."""

    scheme: ClassVar[str]

    async def resolve(self, uri: Uri) -> Listing:
        """What is at `uri` now, pinned.

        Raises NotFound (naming what was looked for), NotAuthorized, Unsupported, Permanent, Retryable.
        """
        ...

    def request(self, listing: Listing, entry: Entry, *, fresh: bool = False) -> Request:
        """A signed GET of `entry`, to which the caller adds its Range. May block (credential refresh): call it
        from a thread. `fresh` makes it renew credentials or a redirect's signed URL first. Raises
        NotAuthorized, Retryable.
        """
        ...

    def confirm(self, entry: Entry, headers: Mapping[str, str]) -> Entry:
        """`entry` with what the headers (lower-case names) of a payload answer add or withdraw: a checksum, or
        an MD5 that server-side encryption makes meaningless. Raises SourceChanged when it is another version.
        """
        ...

    async def close(self) -> None:
        """Free what it holds."""
        ...
