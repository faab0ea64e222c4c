"""A disk that others fill to within a few blocks, or a few inodes, of what a store needs: wherever it stops, the caller
gets a typed error, nothing is damaged, and the same store goes on once there is room."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial

import pytest

from cached.errors import Code
from cached.store.store import Store
from tests.faults.store.life import N, check_after, life, problem_of
from tests.helpers.disks import SmallDisk
from tests.unit.store.making import open_store

BLOCK = 4096
EVERY = 1 if os.environ.get("CACHED_PROVE") == "1" else 2

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]


def emptied(disk: SmallDisk) -> Store:
    store = open_store(disk.mount)
    if store.ref(N):
        store.remove(N)
    return store


def lives_with(store: Store, shortage: contextlib.AbstractContextManager[None]) -> bool:
    """Whether a whole life fits; otherwise it ends in the one error that says what to do."""
    with shortage:
        problem = problem_of(partial(life, store))
    if problem:
        assert (problem.code, bool(problem.hint)) == (Code.INSUFFICIENT_SPACE, True), repr(problem)
    return problem is None


def walk(disk: SmallDisk, shortage: Callable[[int], contextlib.AbstractContextManager[None]], *, limit: int) -> int:
    """With more and more left, until a life fits; how many times it did not."""
    for left in range(0, limit, EVERY):
        store = emptied(disk)
        fits = lives_with(store, shortage(left))
        check_after(store)
        if fits:
            return left
    raise AssertionError(f"a life does not fit into {limit}")


def test_a_store_that_runs_out_of_blocks_anywhere_goes_on_when_there_are_some(disk: SmallDisk) -> None:
    assert walk(disk, lambda left: disk.filled(but=left * BLOCK), limit=200) > 5


def test_a_store_that_runs_out_of_inodes_anywhere_goes_on_when_there_are_some(few_inodes: SmallDisk) -> None:
    assert walk(few_inodes, lambda left: few_inodes.crowded(but=left), limit=100) > 5
