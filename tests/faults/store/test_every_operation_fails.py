"""Each single operation on the disk fails once, with a full disk and with an I/O error: the caller gets a typed error,
what was set aside for it is given back, and the same store goes on."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from cached import failpoints, fsops
from cached.errors import Code
from cached.fsops import Kind, Op
from cached.store.store import Store
from tests.faults.store.life import N, check_after, life, problem_of
from tests.unit.store.making import open_store

CODES = {"enospc": Code.INSUFFICIENT_SPACE, "eio": Code.INTERNAL}
TAKES_SPACE = {Kind.CREATE, Kind.WRITE, Kind.ALLOCATE, Kind.MKDIR, Kind.LINK, Kind.SYMLINK, Kind.RENAME, Kind.FSYNC}
WAITS_FOR_THE_DISK = set(Kind) - TAKES_SPACE - {Kind.LABEL} | {Kind.WRITE, Kind.FSYNC}
FAULTS = sorted({(kind, "enospc") for kind in TAKES_SPACE} | {(kind, "eio") for kind in WAITS_FOR_THE_DISK})


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    """In memory where that is possible: nothing is cut off here, so syncs only cost time."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        root = Path(folder, "root")
        yield root
        fsops.remove_folder(root)


def emptied(root: Path) -> Store:
    """A store on the root, without the model that the life before ended with."""
    store = open_store(root)
    if store.ref(N):
        store.remove(N)
    return store


def counted(root: Path) -> Counter[Kind]:
    """How many operations of each kind a life has."""
    store, counts = emptied(root), Counter[Kind]()

    def count(op: Op) -> None:
        counts[op.kind] += 1

    with fsops.observed(count):
        life(store)
    store.close()
    return counts


def test_a_life_has_operations_of_every_kind(root: Path) -> None:
    assert set(Kind) - counted(root).keys() == {Kind.LABEL}  # only where SELinux is on


@pytest.mark.parametrize(("kind", "action"), FAULTS)
def test_each_operation_that_fails_once_is_told_and_lived_through(
    root: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, action: str
) -> None:
    for number in range(1, counted(root)[kind] + 1):
        store, armed = emptied(root), {f"fsops.{kind}": (number, action)}
        with monkeypatch.context() as patched:
            patched.setattr(failpoints, "_armed", armed)
            problem = problem_of(partial(life, store))
        assert armed == {}, f"{kind} {number} was not reached"
        assert problem, f"{kind} {number}"
        assert (problem.code, bool(problem.hint)) == (CODES[action], True), f"{kind} {number}: {problem!r}"
        check_after(store)
