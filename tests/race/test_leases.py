"""Many callers at once: leases are taken, listed and released while the name that they are of moves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path

import pytest

from cached import fsops
from cached.clock import SystemClock
from cached.fsops import Kind, Op
from cached.store.leases import read_leases
from cached.store.store import Store
from cached.types import LeaseId, TreeId
from tests.unit.store.leasing import CSI, NAME, NODE, of_name
from tests.unit.store.making import a_ref, open_store, published

THREADS = 16
ROUNDS = 12


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    root = tmp_path / "root"
    store = open_store(root, clock=SystemClock())
    yield store
    store.close()
    fsops.remove_folder(root)


@pytest.fixture
def trees(store: Store) -> tuple[TreeId, ...]:
    trees = tuple(published(store, {"x": content}) for content in (b"one", b"two", b"three"))
    store.put_ref(a_ref(NAME, trees[0]))
    return trees


def placed(store: Store) -> TreeId:
    ref = store.ref(NAME)
    assert ref
    assert ref.placed
    return ref.placed.tree


def test_whoever_was_answered_holds_what_the_name_points_to_on_disk_too(
    store: Store, trees: tuple[TreeId, ...]
) -> None:  # fmt: skip
    over = threading.Event()

    def read(reader: int) -> None:
        for turn in range(ROUNDS):
            identity = LeaseId(f"{reader}-{turn}")
            store.lease(identity, of_name())
            now = placed(store)
            assert now in held(store)[identity]
            if turn % 2:
                store.release(identity)
            store.renew(NODE, {})

    def move() -> None:
        for tree in cycle(trees):
            if over.is_set():
                return
            store.put_ref(a_ref(NAME, tree))

    with ThreadPoolExecutor(THREADS + 1) as pool:
        moving = pool.submit(move)
        reading = [pool.submit(read, reader) for reader in range(THREADS)]
        try:
            for each in reading:
                each.result(60)
        finally:
            over.set()
        moving.result(60)
    leases, damaged = read_leases(store.layout)
    assert (set(leases), damaged) == (set(store.leases()), ())
    assert {lease.id for lease in leases} == {
        f"{reader}-{turn}" for reader in range(THREADS) for turn in range(0, ROUNDS, 2)
    }
    assert all(placed(store) in lease.trees for lease in leases)


def held(store: Store) -> dict[LeaseId, tuple[TreeId, ...]]:
    return {lease.id: lease.trees for lease in store.leases()}


@pytest.mark.usefixtures("trees")
def test_callers_of_one_moment_share_their_waits_for_the_disk(store: Store) -> None:
    begun, release = threading.Event(), threading.Event()
    syncs: list[Path] = []

    def hold_first(op: Op) -> None:
        if op.kind is Kind.FSYNC_DIR:
            syncs.append(op.path)
            begun.set()
            assert release.wait(30)

    def take(number: int) -> None:
        store.lease(LeaseId(f"a-{number}"), of_name(holder=CSI))

    with fsops.observed(hold_first), ThreadPoolExecutor(64) as pool:
        taking = [pool.submit(take, 0)]
        assert begun.wait(30)
        taking += [pool.submit(take, number) for number in range(1, 64)]
        while len(store.leases()) < 64:  # in memory before the disk has answered anybody
            assert not any(each.done() for each in taking)
        release.set()
        for each in taking:
            each.result(30)
    assert syncs == [store.layout.leases] * 2
