"""Leases: what they hold, from when, until when, and that they outlive the process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cached import fsops
from cached.errors import CachedError, Conflict, NotFound
from cached.fsops import Op
from cached.store.records import Held
from cached.store.store import Store
from cached.types import LeaseId, LeaseKind, ModelName, TreeId
from tests.unit.store.leasing import (
    CSI,
    ID,
    NAME,
    NODE,
    OTHER,
    TwoHands,
    expire,
    keeping,
    leased_store,
    of_name,
    of_tree,
    on_disk,
    refuse,
    reopened,
)  # fmt: skip
from tests.unit.store.making import a_ref, model, published

ONE = {"x": b"one"}
TWO = {"x": b"two"}


@pytest.fixture
def clock() -> TwoHands:
    return TwoHands()


@pytest.fixture
def store(root: Path, clock: TwoHands) -> Iterator[Store]:
    store = leased_store(root, clock)
    yield store
    store.close()


def put(store: Store, tree: TreeId, *history: Held) -> None:
    store.put_ref(msgspec.structs.replace(a_ref(NAME, tree), history=history))


def test_a_lease_by_name_holds_what_the_name_points_to(store: Store, clock: TwoHands) -> None:
    put(store, tree := published(store, ONE))
    lease = store.lease(ID, of_name(ttl=60))
    assert (lease.trees, lease.taken, lease.expires) == ((tree,), clock.walls, clock.walls + 60)
    assert store.leases() == (lease,)
    assert keeping(store, tree) == (ID,)


def test_a_lease_by_tree_holds_that_tree(store: Store) -> None:
    tree = published(store, ONE)
    assert store.lease(ID, of_tree(tree)).trees == (tree,)
    assert keeping(store, tree) == (ID,)


def test_a_lease_holds_every_tree_that_its_name_moves_to_before_the_ref_says_so(store: Store) -> None:
    one, two = published(store, ONE), published(store, TWO)
    put(store, one)
    store.lease(ID, of_name())
    names: list[str] = []

    def note(op: Op) -> None:
        if op.kind == "rename" and op.to:
            names.append(f"{op.to.parent.name}/{op.to.name}")

    with fsops.observed(note):
        put(store, two)
    assert names[:2] == [f"leases/{ID}.json", f"refs/{NAME}.json"]
    assert store.leases()[0].trees == (one, two)


def test_a_name_does_not_move_when_its_leases_cannot_follow(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = published(store, ONE), published(store, TWO)
    put(store, one)
    store.lease(ID, of_name())
    refuse(monkeypatch, "fsops.fsync")
    with pytest.raises(CachedError):
        put(store, two)
    ref = store.ref(NAME)
    assert ref
    assert ref.placed
    assert (ref.placed.tree, store.leases()[0].trees) == (one, (one,))


def test_a_lease_of_a_name_without_content_holds_what_comes(store: Store) -> None:
    store.put_ref(a_ref(NAME, None))
    assert store.lease(ID, of_name()).trees == ()
    put(store, tree := published(store, ONE))
    assert keeping(store, tree) == (ID,)


def test_a_reader_since_earlier_holds_what_the_name_has_left_meanwhile(store: Store) -> None:
    old, one, two = (published(store, {"x": content}) for content in (b"old", b"one", b"two"))
    put(store, two, Held(tree=old, since=1.0, until=2.0), Held(tree=one, since=2.0, until=8.0))
    assert store.lease(ID, of_name(since=5.0)).trees == (two, one)
    assert store.lease(OTHER, of_name()).trees == (two,)


def test_what_is_not_here_cannot_be_leased(store: Store) -> None:
    with pytest.raises(NotFound, match="no model named m"):
        store.lease(ID, of_name())
    with pytest.raises(NotFound, match="no tree"):
        store.lease(ID, of_tree(TreeId("0" * 64)))
    assert (store.leases(), on_disk(store)) == ((), [])


def test_a_tree_on_its_way_out_cannot_be_leased(store: Store) -> None:
    put(store, tree := published(store, ONE))
    store._parts.holds.condemned.add(tree)
    for ask in (of_name(), of_tree(tree)):
        with pytest.raises(Conflict, match="being evicted"):
            store.lease(ID, ask)
    assert (store.leases(), on_disk(store)) == ((), [])


def test_an_id_is_one_holders_and_of_one_model(store: Store) -> None:
    model(store, NAME, ONE)
    model(store, "other", TWO)
    store.lease(ID, of_name())
    for ask in (of_name(holder=NODE), of_name("other")):
        with pytest.raises(Conflict, match=r"is csi's, of m"):
            store.lease(ID, ask)


def test_taken_again_it_keeps_what_it_holds_and_its_time_begins_anew(store: Store, clock: TwoHands) -> None:
    one, two = published(store, ONE), published(store, TWO)
    first = store.lease(ID, of_tree(one, ttl=60))
    clock.pass_by(50)
    again = store.lease(ID, of_tree(two, ttl=60))
    assert (again.trees, again.taken, again.expires) == ((one, two), first.taken, clock.walls + 60)
    clock.pass_by(50)
    assert expire(store) == ()


def test_taken_again_without_a_change_it_is_not_written(store: Store) -> None:
    model(store, NAME, ONE)
    store.lease(ID, of_name())
    ops: list[Op] = []
    with fsops.observed(ops.append):
        store.lease(ID, of_name())
    assert ops == []


def test_a_longer_life_is_durable(store: Store, clock: TwoHands) -> None:
    model(store, NAME, ONE)
    store.lease(ID, of_name(ttl=60))
    clock.pass_by(50)
    lease = store.lease(ID, of_name(ttl=60))
    again = reopened(store, clock)
    assert again.leases() == (lease,)
    again.close()


def test_a_release_ends_it(store: Store, clock: TwoHands) -> None:
    tree = model(store, NAME, ONE).trees
    lease = store.lease(ID, of_name())
    clock.pass_by(100)
    assert store.release(ID) == lease
    assert (store.leases(), on_disk(store)) == ((), [])
    assert [store._parts.index.used_at(each) for each in tree] == [clock.walls]
    with pytest.raises(NotFound, match="no lease vol-1"):
        store.release(ID)


@pytest.mark.parametrize("jump", [-1e9, 0.0, 1e9])
def test_a_wall_clock_that_is_set_neither_ends_nor_prolongs_a_lease(
    store: Store, clock: TwoHands, jump: float
) -> None:  # fmt: skip
    tree = next(iter(model(store, NAME, ONE).trees))
    store.lease(ID, of_name(ttl=60))
    clock.walls += jump
    clock.pass_by(59)
    assert (expire(store), keeping(store, tree)) == ((), (ID,))
    clock.pass_by(1)
    assert (expire(store), keeping(store, tree), on_disk(store)) == ((ID,), (), [])


def test_a_lease_without_ttl_does_not_end(store: Store, clock: TwoHands) -> None:
    model(store, NAME, ONE)
    store.lease(ID, of_name())
    clock.pass_by(1e9)
    assert expire(store) == ()


def test_leases_outlive_the_process_and_what_is_left_of_their_time(store: Store, clock: TwoHands) -> None:
    put(store, tree := published(store, ONE))
    taken = (store.lease(ID, of_name()), store.lease(OTHER, of_name(ttl=60)))
    clock.pass_by(50)
    again = reopened(store, clock)
    assert (again.leases(), keeping(again, tree)) == (taken, (ID, OTHER))
    clock.pass_by(10)
    assert expire(again) == (OTHER,)
    again.close()


def test_a_removed_name_leaves_its_leases(store: Store) -> None:
    put(store, tree := published(store, ONE))
    store.lease(ID, of_name())
    store.remove(NAME)
    assert keeping(store, tree) == (ID,)


def test_each_change_is_told_once(store: Store, clock: TwoHands) -> None:
    model(store, NAME, ONE)
    for _ in range(2):
        store.lease(ID, of_name())
    store.lease(OTHER, of_name(kind=LeaseKind.SHELL, ttl=1))
    store.release(ID)
    clock.pass_by(1)
    expire(store)
    assert store.transitions == {"lease_taken": 2, "lease_released": 1, "lease_expired": 1}


def test_a_stranger_in_the_folder_is_left_alone_and_a_temporary_goes(store: Store, clock: TwoHands) -> None:
    stranger = store.layout.leases / "README"
    stranger.write_text("hello")
    (store.layout.leases / ".tmp-1").write_text("{")
    again = reopened(store, clock)
    assert (on_disk(again), again.leases(), again.warnings) == (["README"], (), ())
    again.close()


def test_ids_sort_the_list(store: Store) -> None:
    model(store, NAME, ONE)
    for identity in ("b", "a", "c"):
        store.lease(LeaseId(identity), of_name())
    assert [lease.id for lease in store.leases()] == ["a", "b", "c"]
    assert {lease.name for lease in store.leases()} == {ModelName("m")}
    assert {lease.holder for lease in store.leases()} == {CSI}
