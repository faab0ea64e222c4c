"""What the disk refuses is as it was before, in memory and after a start, whoever else changed it meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from cached import fsops
from cached.errors import CachedError, InsufficientSpace
from cached.fsops import Op
from cached.store.leasebook import Held, LeaseBook
from cached.store.records import Lease
from cached.store.store import Store
from cached.store.together import Change
from cached.types import LeaseId, LeaseKind, TreeId
from tests.unit.store.leasing import (
    CSI,
    ID,
    TwoHands,
    expire,
    keeping,
    leased_store,
    of_name,
    on_disk,
    refuse,
    reopened,
)
from tests.unit.store.making import model

TREE = TreeId("a" * 64)


@pytest.fixture
def clock() -> TwoHands:
    return TwoHands()


@pytest.fixture
def store(root: Path, clock: TwoHands) -> Iterator[Store]:
    store = leased_store(root, clock)
    yield store
    store.close()


@pytest.fixture
def tree(store: Store) -> TreeId:
    return next(iter(model(store, "m", {"x": b"one"}).trees))


@pytest.mark.parametrize("place", ["fsops.create", "fsops.write", "fsops.fsync", "fsops.rename", "fsops.fsync_dir"])
def test_a_lease_that_the_disk_refused_is_not_taken(
    store: Store, clock: TwoHands, tree: TreeId, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    refuse(monkeypatch, place, action="enospc")
    with pytest.raises(InsufficientSpace, match="cannot take a lease"):
        store.lease(ID, of_name())
    assert (store.leases(), keeping(store, tree), store.transitions) == ((), (), {})
    store.lease(ID, of_name())
    store.release(ID)
    again = reopened(store, clock)
    assert (again.leases(), on_disk(again)) == ((), [])
    again.close()


def test_a_lease_that_was_refused_after_it_got_its_name_goes_with_the_next_change(
    store: Store, clock: TwoHands, tree: TreeId, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, "fsops.fsync_dir")
    with pytest.raises(CachedError):
        store.lease(ID, of_name())
    other = store.lease(LeaseId("other"), of_name())
    again = reopened(store, clock)
    assert (again.leases(), keeping(again, tree)) == ((other,), (other.id,))
    again.close()


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("place", ["fsops.fsync", "fsops.fsync_dir"])
def test_a_longer_life_that_the_disk_refused_is_the_old_one(
    store: Store, clock: TwoHands, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    lease = store.lease(ID, of_name(ttl=60))
    clock.pass_by(30)
    refuse(monkeypatch, place)
    with pytest.raises(CachedError):
        store.lease(ID, of_name(ttl=60))
    assert store.leases() == (lease,)
    clock.pass_by(30)
    assert expire(store) == (ID,)


@pytest.mark.parametrize("place", ["fsops.unlink", "fsops.fsync_dir"])
def test_a_lease_whose_end_the_disk_refused_still_holds(
    store: Store, tree: TreeId, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    lease = store.lease(ID, of_name())
    refuse(monkeypatch, place)
    with pytest.raises(CachedError, match="cannot release a lease"):
        store.release(ID)
    assert (store.leases(), keeping(store, tree)) == ((lease,), (ID,))
    store.release(ID)
    assert on_disk(store) == []


def test_a_lease_that_may_have_left_the_disk_is_written_when_it_is_taken_again(
    store: Store, clock: TwoHands, tree: TreeId, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.lease(ID, of_name())
    refuse(monkeypatch, "fsops.fsync_dir")
    with pytest.raises(CachedError):
        store.release(ID)
    store.lease(ID, of_name())
    again = reopened(store, clock)
    assert keeping(again, tree) == (ID,)
    again.close()


@pytest.mark.usefixtures("tree")
def test_leases_whose_end_the_disk_refused_expire_later(
    store: Store, clock: TwoHands, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.lease(ID, of_name(ttl=1))
    clock.pass_by(1)
    refuse(monkeypatch, "fsops.unlink")
    with pytest.raises(OSError, match="Input/output"):
        expire(store)
    assert (expire(store), on_disk(store)) == ((ID,), [])


def test_a_lease_protects_while_the_disk_still_writes_it(store: Store, tree: TreeId) -> None:
    seen: list[Sequence[str]] = []

    def look(op: Op) -> None:
        if op.path.parent == store.layout.leases:
            seen.append(keeping(store, tree))

    with fsops.observed(look):
        store.lease(ID, of_name())
    assert set(seen) == {(ID,)}


def held(taken: float) -> Held:
    return Held(Lease(id=ID, holder=CSI, kind=LeaseKind.VOLUME, trees=(TREE,), taken=taken), None, 0.0)


def entered(book: LeaseBook, what: Held | None) -> Change:
    change = Change(Path("x"), None)
    book.enter(ID, what, change)
    return change


def answered(change: Change, *, good: bool) -> None:
    change.done, change.error = True, None if good else OSError("no")


OLD, FIRST, SECOND = held(0), held(1), held(2)


@pytest.mark.parametrize(
    ("steps", "stays"),
    [
        pytest.param([(FIRST, True), (SECOND, True)], SECOND, id="both"),
        pytest.param([(FIRST, False), (SECOND, True)], SECOND, id="a refused one does not take the next with it"),
        pytest.param([(FIRST, True), (SECOND, False)], FIRST, id="the newest that the disk took"),
        pytest.param([(FIRST, False), (SECOND, False)], OLD, id="what was there before"),
        pytest.param([(None, False), (FIRST, True), (None, True)], None, id="a refused end brings nothing back"),
        pytest.param([(None, True), (FIRST, False)], None, id="nothing"),
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_of_several_changes_of_a_lease_the_newest_that_the_disk_took_stays(
    steps: list[tuple[Held | None, bool]], stays: Held | None, *, together: bool
) -> None:
    book = LeaseBook([OLD])
    changes = [(entered(book, what), good) for what, good in steps]
    assert book.get(ID) == steps[-1][0]
    for change, good in changes:
        answered(change, good=good)
        if not together:
            book.settle(ID)
    for _ in changes:
        book.settle(ID)
    now = book.get(ID)
    assert (now and now.lease, [each.lease for each in book.of(TREE)]) == (
        stays and stays.lease,
        [stays.lease] if stays else [],
    )
    assert book.is_durable(ID) == (steps[-1][1] and stays is not None)
