"""The objects and files a server holds, with what it says about each.

Owns names, versions and stored attributes; knows nothing of HTTP.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass

from awscrt import checksums

from tests.helpers.hostile.content import Content, blocks, digest

MD5_UP_TO = 64 << 20
"""Larger objects get the ETag of a multipart upload: hashing them would slow every test down."""
UPLOAD_PART = 8 << 20

_CRCS: dict[str, tuple[Callable[[bytes, int], int], int]] = {
    "crc32": (checksums.crc32, 4),
    "crc32c": (checksums.crc32c, 4),
    "crc64nvme": (checksums.crc64nvme, 8),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One object (in one version), or one plain file."""

    content: Content
    etag: str | None
    """As on the wire, with its quotes; None: none is sent."""
    version: str | None = None
    checksum: tuple[str, str] | None = None
    """(algorithm in lower case, value): sent when the client asks for checksums."""
    checksum_type: str | None = "FULL_OBJECT"
    storage_class: str | None = None
    restore: str | None = None
    """The x-amz-restore header of an archived object."""
    sse: str | None = None
    content_type: str = "application/octet-stream"
    content_encoding: str | None = None
    ranges: bool = True
    """False: ranges are neither advertised nor obeyed."""
    headers: tuple[tuple[str, str], ...] = ()
    """More headers, sent as they are."""
    s3: bool = True

    @property
    def archived(self) -> bool:
        """Whether a GET is refused until a restore has ended."""
        frozen = self.storage_class in {"GLACIER", "DEEP_ARCHIVE"}
        return frozen and 'ongoing-request="false"' not in (self.restore or "")


def s3_etag(content: Content) -> str:
    """The MD5 as a single-part upload gets it; for large content an ETag of the multipart form."""
    if content.size <= MD5_UP_TO:
        return f'"{digest(content, "md5")}"'
    name = hashlib.md5(repr((content.size, content.read(0, 64))).encode(), usedforsecurity=False).hexdigest()
    return f'"{name}-{-(-content.size // UPLOAD_PART)}"'


def full_checksum(content: Content, algorithm: str) -> tuple[str, str]:
    """(algorithm, base64 value) of the whole content: crc32, crc32c or crc64nvme."""
    function, width = _CRCS[algorithm]
    value = 0
    for block in blocks(content):
        value = function(block, value)
    return algorithm, base64.b64encode(value.to_bytes(width, "big")).decode()


class Shelf:
    """Items by `bucket/key`; a versioned item stands behind its predecessors, another replaces them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: dict[str, list[Item]] = {}
        self._buckets: set[str] = set()

    def add_bucket(self, name: str) -> None:
        """An empty bucket."""
        with self._lock:
            self._buckets.add(name)

    def put(self, path: str, item: Item) -> None:
        """Store `item` as the newest of its path."""
        with self._lock:
            if item.s3:
                self._buckets.add(path.partition("/")[0])
            older = self._items.get(path, []) if item.version else []
            self._items[path] = [*older, item]

    def remove(self, path: str) -> None:
        """Forget every version."""
        with self._lock:
            del self._items[path]

    def get(self, path: str, version: str | None = None) -> Item | None:
        """The newest version, or the one named; None where there is none."""
        with self._lock:
            items = self._items.get(path, [])
            chosen = [item for item in items if version in {None, item.version}]
            return chosen[-1] if chosen else None

    def has_bucket(self, name: str) -> bool:
        """Whether the bucket exists, empty or not."""
        with self._lock:
            return name in self._buckets

    def listing(self, bucket: str, prefix: str) -> list[tuple[str, Item]]:
        """(key, newest item) of every key with that prefix, in byte order."""
        start = f"{bucket}/"
        with self._lock:
            found = [
                (path.removeprefix(start), items[-1])
                for path, items in self._items.items()
                if path.startswith(start + prefix) and items[-1].s3
            ]
        return sorted(found, key=lambda pair: pair[0].encode(errors="surrogateescape"))
