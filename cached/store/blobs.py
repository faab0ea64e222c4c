"""Published bytes: `blobs/sha256/<ab>/<hex>`, 0444, never written, truncated or replaced once they have that name.

Owns the group seal (steps 3 to 6), quarantine, and removal. A name is given by link(2), which never replaces;
a damaged inode is moved away before its successor takes the name, so a reader of the old one keeps it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cached import failpoints, fsops
from cached.errors import Code, Corrupt
from cached.fsops import File
from cached.layout import SHARDS, Layout
from cached.store import selinux
from cached.store.index import NEVER, Index
from cached.store.ingest import Ingest
from cached.types import Digest

MODE = 0o444


class Blobs:
    """Thread-safe. Counts blobs and their bytes as they come and go."""

    def __init__(self, layout: Layout, index: Index, *, count: int, size: int) -> None:
        self._layout = layout
        self._index = index
        self._lock = threading.Lock()
        self.count = count
        self.bytes = size

    def size(self, digest: Digest) -> int | None:
        """Bytes of a blob; None if it is not here."""
        try:
            state = self._layout.blob(digest).lstat()
        except FileNotFoundError:
            return None
        return state.st_size if stat.S_ISREG(state.st_mode) else None

    def seal(self, items: Sequence[tuple[Ingest, Digest]], *, at: float) -> None:
        """Make verified downloads blobs, as one group, so that one journal commit of the file system serves many.

        All writers have closed the files. After an error each ingest is either spent or still open; one whose
        sync failed is dropped. Raises Corrupt when a file has not its size, OSError.
        """
        for ingest, _ in items:
            _check_size(ingest)
        _start_writeback(ingest.data for ingest, _ in items)
        for ingest, _ in items:
            _make_final(ingest)
        failpoints.hit("seal.after_sync")
        new = [(digest, ingest.size) for ingest, digest in items if self._name(ingest, digest)]
        failpoints.hit("seal.after_link")
        for shard in sorted({self._layout.shard(digest) for _, digest in items}):
            fsops.fsync_dir(shard)
        failpoints.hit("seal.after_shard_sync")
        self._index.sealed(new, at=at)
        for ingest, _ in items:
            ingest.clear()
        failpoints.hit("seal.after_clear")

    def _name(self, ingest: Ingest, digest: Digest) -> bool:
        """Step 5. False if the blob was here already, and sound, so that the old inode stays."""
        target = self._layout.blob(digest)
        while not fsops.link(ingest.path, target):
            judged = _inode(target)
            if self.sound(digest, size=ingest.size):
                return False
            if judged is not None:  # otherwise another has just moved it away
                self.quarantine(digest, inode=judged)
        self._count(1, ingest.size)
        return True

    def sound(self, digest: Digest, *, size: int) -> bool:
        """Whether the blob on disk may be trusted: its size and mode, and its sha256 if that was never proved here."""
        try:
            with fsops.open_existing(self._layout.blob(digest)) as data:
                state = data.stat()
                if state.st_size != size or stat.S_IMODE(state.st_mode) != MODE:
                    return False
                if self._index.verified_at(digest) != NEVER:
                    return True
                return _sha256(data) == digest
        except FileNotFoundError:
            return False

    def quarantine(self, digest: Digest, *, inode: int | None = None) -> None:
        """Move a damaged blob out of the way, for a person to look at. Its readers and trees keep the inode.

        With `inode` only that one: of two who found it damaged, the second would move the first one's successor.
        """
        path, aside = self._layout.blob(digest), self._layout.quarantine / f"{digest}-{secrets.token_hex(4)}"
        with self._lock:
            if inode is not None and _inode(path) != inode:
                return
            try:
                size = path.lstat().st_size
                fsops.rename(path, aside)
            except FileNotFoundError:
                return
        fsops.fsync_dir(self._layout.quarantine)
        fsops.fsync_dir(path.parent)
        self._index.forget([digest])
        self._count(-1, -size)

    def remove(self, digest: Digest) -> int | None:
        """Remove a blob that no tree links to; its bytes, None if it is linked or gone. The caller excludes linkers."""
        path = self._layout.blob(digest)
        try:
            state = path.lstat()
        except FileNotFoundError:
            return None
        if state.st_nlink != 1 or not fsops.unlink(path):
            return None
        self._count(-1, -state.st_size)
        return state.st_size

    def _count(self, blobs: int, size: int) -> None:
        with self._lock:
            self.count += blobs
            self.bytes += size


def _inode(path: Path) -> int | None:
    try:
        return path.lstat().st_ino
    except FileNotFoundError:
        return None


def _check_size(ingest: Ingest) -> None:
    """Step 3: the file that readers will open, opened as they will."""
    with fsops.open_existing(ingest.path) as data:
        found = data.stat().st_size
    if found != ingest.size:
        raise Corrupt(
            f"{ingest.path} has {found} bytes instead of {ingest.size}",
            code=Code.CORRUPT,
            hint="another program writes into the cache root; nothing was published",
            details={"expected": ingest.size, "found": found},
        )


def _start_writeback(files: Iterable[File]) -> None:
    """Let the disk work on all files at once before the first is waited for.

    DONTNEED starts write-back without waiting. Two runs of the bare system calls on ext4, 512 files of 4 KiB in
    groups of 128, on a shared machine: 1,720 and 1,902 files a second without it, 2,821 and 1,953 with it. 16 threads
    on top of it gained in three comparisons of four (30-53 %) and halved the rate in one; not tried in `seal`.
    """
    for file in files:
        os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_DONTNEED)


def _make_final(ingest: Ingest) -> None:
    """Step 4. Mode and content go out in one sync, on the descriptor that has heard of every error since the
    file was new; a descriptor opened now might not be told of one that was reported before."""
    try:
        fsops.chmod(ingest.data, MODE)
        selinux.make_readable(ingest.data)
        fsops.fsync(ingest.data)
    except OSError:
        ingest.discard()  # the kernel tells it once and drops the pages: this generation is lost
        raise


def _sha256(data: File) -> str:
    digest = hashlib.sha256()
    offset = 0
    while block := os.pread(data.fd, 1 << 20, offset):
        digest.update(block)
        offset += len(block)
    return digest.hexdigest()


def scan_blobs(layout: Layout) -> dict[Digest, tuple[int, float]]:
    """Every blob on disk: (size, mtime) by digest. Other names in the shard folders are not ours.

    One lstat a blob: 100,000 take about a second.
    """
    return {digest: (state.st_size, state.st_mtime) for digest, state in _entries(layout)}


def _entries(layout: Layout) -> Iterator[tuple[Digest, os.stat_result]]:
    for shard in SHARDS:
        with os.scandir(layout.blobs / shard) as entries:
            for entry in entries:
                digest = _digest_of(entry.name, shard)
                if digest and entry.is_file(follow_symlinks=False):
                    yield digest, entry.stat(follow_symlinks=False)


def _digest_of(name: str, shard: str) -> Digest | None:
    try:
        return Digest(name) if name.startswith(shard) else None
    except ValueError:
        return None
