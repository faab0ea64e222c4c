"""One owner: `daemon.lock` is locked with flock for the life of the process.

Correctness holds even without it (unique temporary names, publication without replacement); it keeps two
daemons from doing the same work and from removing what the other links to.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from cached import fsops
from cached.errors import Conflict, Permanent
from cached.fsops import File


def take_lock(path: Path) -> File:
    """Lock `path`, which is made if need be; closing the file gives the lock back.

    Raises Conflict that names the holder's pid, Permanent where flock does nothing, OSError.
    """
    file = _open(path)
    try:
        _lock_or_refuse(file)
        _refuse_if_flock_does_nothing(path)
        fsops.truncate(file, 0)
        fsops.pwrite_all(file, f"{os.getpid()}\n".encode(), 0)
    except BaseException:
        file.close()
        raise
    return file


def _open(path: Path) -> File:
    with contextlib.suppress(FileExistsError):
        return fsops.create(path)
    return fsops.open_existing(path, write=True)


def _locked(file: File) -> bool:
    try:
        fcntl.flock(file.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_or_refuse(file: File) -> None:
    if _locked(file):
        return
    text = os.pread(file.fd, 32, 0).decode(errors="replace").strip()
    pid = int(text) if text.isdigit() else 0
    raise Conflict(
        f"another daemon owns {file.path.parent}: {f'pid {pid}' if pid else 'its pid is not known yet'}",
        hint="stop it, or give this one a root of its own (--root)",
        details={"pid": pid},
    )


def _refuse_if_flock_does_nothing(path: Path) -> None:
    if lock_problem(path):
        raise Permanent(
            f"flock does nothing on the file system of {path}: a second lock was granted beside the first",
            hint="put the root on a local file system such as ext4 or xfs",
        )


def lock_problem(path: Path) -> str:
    """Why the lock on `path`, which this process holds, would not stop another daemon; empty if it would. Raises
    OSError."""
    try:
        with fsops.open_existing(path, write=True) as canary:
            return f"a second lock on {path} was granted beside the first" if _locked(canary) else ""
    except FileNotFoundError:
        return f"{path} was removed"
