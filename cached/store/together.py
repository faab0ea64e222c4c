"""Group commit of small files in one folder: many that must be durable at once share the waits for the disk.

A change is put in line in memory, in an order that its caller decides, and waited for later. Whoever waits first
carries out everything that is in line by then, and the others find theirs done: 64 callers at once cost one sync of
the folder instead of 64.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cached import failpoints, fsops
from cached.fsops import File


@dataclass(slots=True, eq=False)
class Change:
    """One file to write (`data`) or to remove (None). `error` is set when it failed; `done` either way."""

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
        """Until all of them are durable. Raises the OSError of the first that failed."""
        while not all(change.done for change in changes):
            group = self._take(changes)
            if group:
                self._commit(group)
        for change in changes:
            if change.error:
                raise change.error

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
        except OSError as error:  # of the folder: what became of any of them is not known
            for change in group:
                change.error = change.error or error
        finally:
            with self._turn:
                for change in group:
                    change.done = True
                self._busy = False
                self._turn.notify_all()

    def _carry_out(self, group: Sequence[Change]) -> None:
        with contextlib.ExitStack() as files:
            written = [(change, file) for change in group if (file := _create(change, files))]
            for _, file in written:  # let the disk work on all of them before the first is waited for
                os.posix_fadvise(file.fd, 0, 0, os.POSIX_FADV_DONTNEED)
            for change, file in written:
                _sync(change, file)
        failpoints.hit("together.after_sync")
        for change in group:
            _name(change)
        failpoints.hit("together.after_names")
        fsops.fsync_dir(self._folder)


def _create(change: Change, files: contextlib.ExitStack) -> File | None:
    if change.data is None:
        return None
    change.temp = fsops.temporary(change.path.parent)
    try:
        file = files.enter_context(fsops.create(change.temp))
        fsops.pwrite_all(file, change.data, 0)
    except OSError as error:
        _fail(change, error)
        return None
    return file


def _sync(change: Change, file: File) -> None:
    try:
        fsops.fsync(file)
    except OSError as error:
        _fail(change, error)


def _name(change: Change) -> None:
    if change.error:
        return
    try:
        if change.temp is None:
            fsops.unlink(change.path)
        else:
            fsops.rename(change.temp, change.path)
    except OSError as error:
        _fail(change, error)


def _fail(change: Change, error: OSError) -> None:
    change.error = error
    if change.temp is not None:
        with contextlib.suppress(OSError):  # the next start removes it
            fsops.unlink(change.temp)
