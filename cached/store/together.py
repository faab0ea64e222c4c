"""Group commit of small files in one folder: many that must be durable at once share the waits for the disk.

A change is put in line in memory, in an order that its caller decides, and waited for later. Whoever waits first
carries out everything that is in line by then, and the others find theirs done: 64 callers at once cost one sync of
the folder instead of 64. Groups follow each other, so changes of one path take effect in the order of the line.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cached import failpoints, fsops
from cached.fsops import File

OPEN = 64
"""Files of a group that are open at the same time; a complete list may bring a thousand."""


@dataclass(slots=True, eq=False)
class Change:
    """One file to write (`data`) or to remove (None). `error` is set when it failed; `done` either way.

    After an error the disk may have it all the same: its caller counts on neither.
    """

    path: Path
    data: bytes | None
    done: bool = False
    error: OSError | None = None
    temp: Path | None = field(default=None, repr=False)


class Together:
    """All changes of one folder. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn = threading.Condition()
        self._line: list[Change] = []
        self._busy = False

    def write(self, path: Path, data: bytes) -> Change:
        """Put in line: `path` becomes a file of `data`, in one step. Does not block."""
        return self._put(Change(path, data))

    def remove(self, path: Path) -> Change:
        """Put in line: `path` goes. Being gone already is success. Does not block."""
        return self._put(Change(path, None))

    def wait(self, changes: Sequence[Change]) -> None:
        """Until all of them are done, by this thread or another. Raises the OSError of the first that failed."""
        while not all(change.done for change in changes):
            group = self._take(changes)
            if group:
                self._commit(group)
        for error in (change.error for change in changes):
            if error:  # a new one: other threads raise it too
                raise OSError(error.errno, error.strerror, error.filename) from error

    def _put(self, change: Change) -> Change:
        with self._turn:
            self._line.append(change)
        return change

    def _take(self, changes: Sequence[Change]) -> list[Change]:
        """Everything in line, for the caller to carry out; nothing if `changes` were done by another meanwhile."""
        with self._turn:
            while self._busy:
                self._turn.wait()
            if all(change.done for change in changes):
                return []
            self._busy = True
            group, self._line = self._line, []
            return group

    def _commit(self, group: Sequence[Change]) -> None:
        try:
            self._carry_out(group)
        except BaseException as error:  # of them all: nobody may take his for durable, whatever it was
            broken = OSError(errno.EIO, f"broken off by {type(error).__name__}", str(self._folder))
            for change in group:
                change.error = change.error or (error if isinstance(error, OSError) else broken)
            if not isinstance(error, OSError):
                raise
        finally:
            with self._turn:
                for change in group:
                    change.done = True
                self._busy = False
                self._turn.notify_all()

    def _carry_out(self, group: Sequence[Change]) -> None:
        for start in range(0, len(group), OPEN):
            _write(group[start : start + OPEN])
        failpoints.hit("together.after_sync")
        named = [_name(change) for change in group]
        failpoints.hit("together.after_names")
        if any(named):
            fsops.fsync_dir(self._folder)


def _write(group: Sequence[Change]) -> None:
    """The temporaries, durable. The disk works on all of them before the first is waited for."""
    with contextlib.ExitStack() as files:
        written = [(change, file) for change in group if (file := _create(change, files))]
        for change, file in written:
            try:
                with file:
                    fsops.fsync(file)
            except OSError as error:
                _fail(change, error)


def _create(change: Change, files: contextlib.ExitStack) -> File | None:
    if change.data is None:
        return None
    change.temp = fsops.temporary(change.path.parent)
    try:
        file = files.enter_context(fsops.create(change.temp))
        fsops.pwrite_all(file, change.data, 0)
        os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_DONTNEED)  # begins to write back, and does not wait
    except OSError as error:
        _fail(change, error)
        return None
    return file


def _name(change: Change) -> bool:
    """Carry out the rename or unlink; False if the change has failed."""
    if change.error:
        return False
    try:
        if change.temp is None:
            fsops.unlink(change.path)
        else:
            fsops.rename(change.temp, change.path)
    except OSError as error:
        _fail(change, error)
    return change.error is None


def _fail(change: Change, error: OSError) -> None:
    change.error = error
    if change.temp is not None:
        with contextlib.suppress(OSError):  # the next start removes it
            fsops.unlink(change.temp)
