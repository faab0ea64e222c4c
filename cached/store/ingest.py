"""One download on its way to the disk: its preallocated data file and its part journal (steps 1 and 2).

An `Ingest` owns its folder `ingest/<key>/` alone: `cached.store.ingests` gives out one a key. One that nobody could
resume has no folder, only its data file `ingest/<key>.<generation>`: for many small files that saves half of the
work. It does not write payload (workers do, into `path`), does not verify it, and never touches a data file that
has become a blob: once the inode has a second name it is only unlinked here, not truncated.
"""

from __future__ import annotations

import contextlib
import errno
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from cached import codec, failpoints, fsops
from cached.errors import CachedError, InsufficientSpace
from cached.fsops import File
from cached.store import journal
from cached.store.oserrors import mapped
from cached.store.records import IngestMeta, PartRecord, read_record
from cached.types import IngestKey

META = "meta.json"


class Ingest:
    """See the module. Not thread-safe: one task owns it. After `close`, `discard` or sealing it is spent."""

    def __init__(
        self, folder: Path, meta: IngestMeta, *, resumable: bool, data: File, journaled: File | None,
        parts: tuple[PartRecord, ...], done: Callable[[Ingest, bool], None],
    ) -> None:  # fmt: skip
        self.folder = folder
        self.meta = meta
        self.resumable = resumable
        self.parts = parts
        self.spent = False
        self._data = data
        self._journaled = journaled
        self._done = done

    def __repr__(self) -> str:
        state = "spent" if self.spent else "open"
        return f"Ingest({self.key[:12]}, {self.size} bytes, {len(self.parts)} parts, {state})"

    @property
    def key(self) -> IngestKey:
        """Its identity: source, version and size."""
        return self.meta.key

    @property
    def size(self) -> int:
        """Bytes of the whole object."""
        return self.meta.size

    @property
    def generation(self) -> str:
        """Random; another one after `restart`."""
        return self.meta.generation

    @property
    def path(self) -> Path:
        """The data file, `size` bytes long, that workers write into."""
        return data_path(self.folder, self.meta) if self.resumable else flat_path(self.folder, self.meta)

    @property
    def data(self) -> File:
        """The descriptor that is open since the beginning: an fsync on it hears of every write-back error."""
        return self._data

    @mapped("journal downloaded parts")
    def journal(self, records: Sequence[PartRecord]) -> None:
        """Step 2: make the data durable, then say so. Keeps nothing for an ingest that is not resumable.

        Raises CachedError; after one the data on disk is not to be trusted: `restart` or `discard`.
        """
        if self._journaled is None:
            return
        fsops.fdatasync(self._data)
        failpoints.hit("ingest.after_data_sync")
        journal.append(self._journaled, records)
        failpoints.hit("ingest.after_journal_sync")
        self.parts = (*self.parts, *records)

    @mapped("rewrite the part journal")
    def rewrite_journal(self, records: Sequence[PartRecord]) -> None:
        """Make `records` all that the journal says, in one step: a part that failed its re-check is forgotten."""
        if self._journaled is None:
            return
        path = self._journaled.path
        fsops.write_file(path, journal.encode(records))
        self._journaled.close()
        self._journaled = fsops.open_existing(path, write=True)
        self.parts = tuple(records)

    @mapped("start a download afresh")
    def restart(self) -> None:
        """Drop this generation and begin a new one: `path` and `generation` change, `parts` is empty.

        The old file's space is back before the new one is allocated. Raises InsufficientSpace if the new one
        does not fit; the ingest is then spent and its folder gone.
        """
        _drop(self._data)
        self._close_files()
        if self.resumable:
            fsops.unlink(parts_path(self.folder, self.meta))
        self.meta = new_meta(source_id=self.meta.source_id, pin=self.meta.pin, size=self.size)
        try:
            self._data, self._journaled = create_files(self.folder, self.meta, resumable=self.resumable)
        except (OSError, CachedError):
            self._finish(kept=False)
            raise
        self.parts = ()

    @mapped("close a download")
    def close(self) -> None:
        """Keep it as a PARTIAL that a later ingest of the same key adopts; drop it if it is not resumable."""
        if self.spent:
            return
        if not self.resumable:
            self.discard()
            return
        try:
            self._close_files()
        finally:
            self._finish(kept=True)

    @mapped("drop a download")
    def discard(self) -> None:
        """Remove everything; its space is free at once, even while a worker still has the file open.

        It is spent also when the disk refuses that: its key must not stay taken. What is left the next start removes.
        """
        if self.spent:
            return
        try:
            _drop(self._data)
        finally:
            with contextlib.suppress(OSError):  # what close could tell about bytes that are dropped is of no use
                self._close_files()
            self._finish(kept=False)

    def clear(self) -> None:
        """Step 6, for sealing alone: the data has become a blob, so remove the names here. Raises OSError."""
        self._close_files()
        self._finish(kept=False)

    def _finish(self, *, kept: bool) -> None:
        self.spent = True
        try:
            if not self.resumable:
                fsops.unlink(self.path)
            elif not kept:
                fsops.remove_folder(self.folder)
        finally:
            self._done(self, kept)

    def _close_files(self) -> None:
        self._data.close()
        if self._journaled:
            self._journaled.close()


def new_meta(*, source_id: str, pin: str, size: int) -> IngestMeta:
    """What a fresh ingest of this object writes into meta.json."""
    return IngestMeta(source_id=source_id, pin=pin, size=size, generation=secrets.token_hex(8))


def data_path(folder: Path, meta: IngestMeta) -> Path:
    """Where this generation's bytes lie."""
    return folder / f"data.{meta.generation}"


def flat_path(folder: Path, meta: IngestMeta) -> Path:
    """Where the bytes of an ingest without a folder of its own lie; `folder` is that of all ingests."""
    return folder / f"{meta.key}.{meta.generation}"


def parts_path(folder: Path, meta: IngestMeta) -> Path:
    """Where this generation's journal lies."""
    return folder / f"parts.{meta.generation}"


def create_files(folder: Path, meta: IngestMeta, *, resumable: bool) -> tuple[File, File | None]:
    """Step 1 in an existing folder: the allocated data file and, if resumable, journal and meta.json, durable.

    Raises InsufficientSpace (nothing of the file is left) and OSError.
    """
    with contextlib.ExitStack() as undo:  # all of it, whatever else the disk refuses
        data = fsops.create(data_path(folder, meta) if resumable else flat_path(folder, meta))
        undo.callback(data.close)
        undo.callback(_drop, data)
        _allocate(data, meta.size)
        journaled = None
        if resumable:
            journaled = fsops.create(parts_path(folder, meta))
            undo.callback(journaled.close)
            fsops.write_file(folder / META, codec.encode(meta))
        undo.pop_all()
    return data, journaled


def _allocate(data: File, size: int) -> None:
    if size == 0:
        return  # posix_fallocate refuses a length of 0 with EINVAL
    try:
        fsops.allocate(data, size)
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise InsufficientSpace(
            f"the disk cannot hold a file of {size} bytes: {error.strerror}",
            hint="free space on the cache's file system, or remove models",
            details={"needed": size},
        ) from error


def _drop(data: File) -> None:
    """Give the space back at once, unless the inode has become a blob, and remove the name."""
    if data.stat().st_nlink == 1:
        fsops.truncate(data, 0)
    fsops.unlink(data.path)


def adopt_files(folder: Path) -> tuple[IngestMeta, File, File, tuple[PartRecord, ...]] | None:
    """The state that another owner left in `folder`, opened for writing; None if it cannot be gone on with.

    It can when meta.json is sound and the data has the right size and no second name: an inode that has
    become a blob is never written again. Raises OSError.
    """
    meta = adoptable(folder)
    if meta is None:
        return None
    _make_writable(data_path(folder, meta))
    data = fsops.open_existing(data_path(folder, meta), write=True)
    journaled = fsops.open_existing(parts_path(folder, meta), write=True)
    return meta, data, journaled, journal.load(journaled, size=meta.size)


def adoptable(folder: Path) -> IngestMeta | None:
    """The meta.json of an ingest that can be gone on with, without opening it. Raises OSError."""
    meta = read_record(folder / META, IngestMeta)
    if meta is None or meta.key != folder.name:
        return None
    data, parts = data_path(folder, meta), parts_path(folder, meta)
    try:
        state = data.lstat()
    except FileNotFoundError:
        return None
    return meta if state.st_size == meta.size and state.st_nlink == 1 and parts.is_file() else None


def _make_writable(path: Path) -> None:
    # A crash between the chmod and the link of sealing leaves 0444, which uid 0 without capabilities cannot open.
    with fsops.open_existing(path) as data:
        if data.stat().st_mode & 0o777 != fsops.FILE_MODE:
            fsops.chmod(data, fsops.FILE_MODE)
