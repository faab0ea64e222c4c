"""The only door to durable change: what is created, written, synced, linked, renamed or removed below a cache
root is so by a function of this module.

Primitives do one system call each and go through `_do`, the one place where a failpoint (`fsops.<kind>`) hits
and where an observer sees the finished operation, in order; a model of what a crash may lose is built on that
record. Composites are made of primitives. The module decides nothing: which steps come in which order is
the store's business. It raises OSError with the path filled in; an fsync that failed is never tried again on
the same descriptor (the kernel reports an error once and drops the pages), and an error of close is an error.
sync() and syncfs() are not here: they stall every other writer on the node's disk.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import functools
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from cached import failpoints
from cached.layout import TEMP

T = TypeVar("T")

FILE_MODE = 0o644
FOLDER_MODE = 0o755


class Kind(enum.StrEnum):
    """What an operation does; its failpoint is `fsops.<kind>`."""

    CREATE = "create"
    WRITE = "write"
    TRUNCATE = "truncate"
    ALLOCATE = "allocate"
    CHMOD = "chmod"
    LABEL = "label"
    FSYNC = "fsync"
    FDATASYNC = "fdatasync"
    FSYNC_DIR = "fsync_dir"
    LINK = "link"
    RENAME = "rename"
    UNLINK = "unlink"
    MKDIR = "mkdir"
    RMDIR = "rmdir"
    SYMLINK = "symlink"


@dataclass(frozen=True, slots=True)
class Op:
    """One finished operation. `to` is the new name of a link or rename and the target of a symlink."""

    kind: Kind
    path: Path
    to: Path | None = None
    offset: int = 0
    """Of a write; the new length of a truncate or allocate."""
    data: bytes = b""
    mode: int = 0


Observer = Callable[[Op], None]
_observer: Observer | None = None


@contextlib.contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Show every operation of this process to `observer` (from any thread) while the block runs."""
    global _observer  # noqa: PLW0603  one process, one disk, one record
    _observer, before = observer, _observer
    try:
        yield
    finally:
        _observer = before


def _do(op: Op, call: Callable[[], T]) -> T:
    try:
        failpoints.hit(f"fsops.{op.kind}")
        result = call()
    except OSError as error:
        error.filename = str(op.path)  # a call on a descriptor does not know its path
        raise
    if _observer:
        _observer(op)
    return result


class File:
    """An open file and the path it was opened by. As a context manager it closes, and raises if that fails."""

    __slots__ = ("fd", "path")

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.fd = fd

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"File({self.path}, fd={self.fd})"

    def stat(self) -> os.stat_result:
        """The state of the open inode."""
        return os.fstat(self.fd)

    def close(self) -> None:
        """Close it; a second call does nothing. Raises OSError once, when the kernel had an error to tell."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


# Primitives


def create(path: Path, *, mode: int = FILE_MODE) -> File:
    """A new empty file, open for reading and writing. Raises FileExistsError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return File(path, _do(Op(Kind.CREATE, path, mode=mode), lambda: os.open(path, flags, mode)))


def open_existing(path: Path, *, write: bool = False) -> File:
    """An existing regular file; never through a symlink."""
    return File(path, os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC))


def open_dir(path: Path) -> File:
    """An existing folder; never through a symlink."""
    return File(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC))


def pwrite_all(file: File, data: bytes, offset: int) -> None:
    """Write all of `data` at `offset`, going on after short writes."""
    while data:
        op = Op(Kind.WRITE, file.path, offset=offset, data=data)
        written = _do(op, functools.partial(os.pwrite, file.fd, data, offset))
        data, offset = data[written:], offset + written


def truncate(file: File, length: int) -> None:
    """Cut or extend to `length` bytes."""
    _do(Op(Kind.TRUNCATE, file.path, offset=length), lambda: os.ftruncate(file.fd, length))


def allocate(file: File, length: int) -> None:
    """Give the file `length` (> 0) bytes of disk. After ENOSPC ext4 keeps what it got: truncate to 0."""
    _do(Op(Kind.ALLOCATE, file.path, offset=length), lambda: os.posix_fallocate(file.fd, 0, length))


def chmod(file: File, mode: int) -> None:
    """Set the permission bits of the open inode."""
    _do(Op(Kind.CHMOD, file.path, mode=mode), lambda: os.fchmod(file.fd, mode))


def label(file: File, context: str) -> None:
    """Set the SELinux label of the open inode."""
    _do(Op(Kind.LABEL, file.path), lambda: os.setxattr(file.fd, "security.selinux", context.encode() + b"\0"))


def fsync(file: File) -> None:
    """Content and metadata to the medium. After an error the descriptor is of no more use."""
    _do(Op(Kind.FSYNC, file.path), lambda: os.fsync(file.fd))


def fdatasync(file: File) -> None:
    """Content, and the metadata needed to read it back, to the medium."""
    _do(Op(Kind.FDATASYNC, file.path), lambda: os.fdatasync(file.fd))


def fsync_dir(path: Path) -> None:
    """The names in a folder to the medium."""
    with open_dir(path) as folder:
        _do(Op(Kind.FSYNC_DIR, path), lambda: os.fsync(folder.fd))


def chmod_dir(path: Path, mode: int) -> None:
    """Set the permission bits of a folder; never through a symlink."""
    with open_dir(path) as folder:
        _do(Op(Kind.CHMOD, path, mode=mode), lambda: os.fchmod(folder.fd, mode))


def link(source: Path, target: Path) -> bool:
    """A second name for an inode; False if the name is taken. EMLINK is raised: the caller copies instead."""
    try:
        _do(Op(Kind.LINK, source, to=target), lambda: os.link(source, target, follow_symlinks=False))
    except FileExistsError:
        return False
    return True


def rename(source: Path, target: Path) -> None:
    """Give a file or symlink another name, replacing what has it. Never onto a blob."""
    _do(Op(Kind.RENAME, source, to=target), lambda: source.rename(target))


def rename_dir(source: Path, target: Path) -> bool:
    """Give a folder another name in the same parent; False if a folder that is not empty has it."""
    try:
        _do(Op(Kind.RENAME, source, to=target), lambda: source.rename(target))
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
            return False
        raise
    return True


def unlink(path: Path) -> bool:
    """Remove a name; False if it is gone already."""
    try:
        _do(Op(Kind.UNLINK, path), path.unlink)
    except FileNotFoundError:
        return False
    return True


def mkdir(path: Path, *, mode: int = FOLDER_MODE) -> bool:
    """A new folder; False if the name is taken."""
    try:
        _do(Op(Kind.MKDIR, path, mode=mode), lambda: path.mkdir(mode))
    except FileExistsError:
        return False
    return True


def rmdir(path: Path) -> bool:
    """Remove an empty folder; False if it is gone already."""
    try:
        _do(Op(Kind.RMDIR, path), path.rmdir)
    except FileNotFoundError:
        return False
    return True


def symlink(target: str, path: Path) -> None:
    """A symlink at `path` to the text `target`. Raises FileExistsError."""
    _do(Op(Kind.SYMLINK, path, to=Path(target)), lambda: path.symlink_to(target))


# Composites


def temporary(folder: Path) -> Path:
    """A name in `folder` that nobody has and that recovery removes."""
    return folder / f"{TEMP}{secrets.token_hex(8)}"


def write_file(path: Path, data: bytes, *, durable: bool = True, mode: int = FILE_MODE) -> None:
    """Put a whole file in place at once: temporary, fsync, rename, fsync of the folder.

    Without `durable` both fsyncs are left out: after a crash the file may be old, missing or empty.
    """
    temp = temporary(path.parent)
    try:
        with create(temp, mode=mode) as file:
            pwrite_all(file, data, 0)
            if durable:
                fsync(file)
        rename(temp, path)
    except OSError:
        unlink(temp)
        raise
    if durable:
        fsync_dir(path.parent)


def replace_symlink(target: str, path: Path) -> None:
    """Make `path` a symlink to `target` in one step. The caller syncs the folder, once for several."""
    temp = temporary(path.parent)
    symlink(target, temp)
    try:
        rename(temp, path)
    except OSError:
        unlink(temp)
        raise


def copy_file(source: Path, target: Path, *, mode: int) -> None:
    """A private, durable copy of a file's content under a new name."""
    with open_existing(source) as original, create(target) as copy:
        offset = 0
        while data := os.pread(original.fd, 1 << 20, offset):
            pwrite_all(copy, data, offset)
            offset += len(data)
        chmod(copy, mode)
        fsync(copy)


def remove_folder(path: Path) -> None:
    """Remove a folder and all below it, whatever the modes are; symlinks are removed, not followed.

    The owner needs the write bit on a folder to empty it, also as uid 0 without capabilities, so each gets
    0755 on the way down. Being gone already, in whole or in part, is success.
    """
    folders = [path]
    for folder in folders:  # grows while it is walked: no recursion, a tree may be 2,000 levels deep
        with contextlib.suppress(FileNotFoundError):
            if stat.S_IMODE(os.lstat(folder).st_mode) != FOLDER_MODE:
                chmod_dir(folder, FOLDER_MODE)
            with os.scandir(folder) as entries:
                for entry in list(entries):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
                    else:
                        unlink(Path(entry.path))
    for folder in reversed(folders):
        rmdir(folder)
