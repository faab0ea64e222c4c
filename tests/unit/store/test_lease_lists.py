"""Complete lists: a holder says all that it holds, and what its silence means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cached import fsops
from cached.api.types import HolderView, LeaseAsk, Renewed
from cached.errors import CachedError, Conflict
from cached.fsops import Kind, Op
from cached.store.leases import UNREADABLE
from cached.store.store import Store
from cached.types import LeaseId, TreeId
from tests.unit.store.leasing import (
    CSI,
    ID,
    NODE,
    OTHER,
    SHELL,
    TwoHands,
    keeping,
    leased_store,
    of_name,
    of_tree,
    on_disk,
    refuse,
    reopened,
)
from tests.unit.store.making import a_ref, model

ONE = {"x": b"one"}
GONE = TreeId("0" * 64)


@pytest.fixture
def clock() -> TwoHands:
    return TwoHands()


@pytest.fixture
def store(root: Path, clock: TwoHands) -> Iterator[Store]:
    store = leased_store(root, clock, CSI, NODE)
    yield store
    store.close()


@pytest.fixture
def tree(store: Store) -> TreeId:
    return next(iter(model(store, "m", ONE).trees))


def stale(store: Store) -> list[str]:
    return [view.holder for view in store.holders() if view.stale]


@pytest.mark.usefixtures("tree")
def test_a_list_takes_what_it_names_and_releases_what_it_no_longer_names(store: Store, clock: TwoHands) -> None:
    store.lease(ID, of_name())
    clock.pass_by(60)
    answer = store.renew(CSI, {OTHER: of_name()})
    assert answer == Renewed(taken=(OTHER,), released=(ID,))
    assert on_disk(store) == [f"{OTHER}.json"]
    assert store.transitions == {"lease_taken": 2, "lease_leaked": 1}


def test_what_a_list_releases_was_used_just_now(store: Store, clock: TwoHands, tree: TreeId) -> None:
    store.lease(ID, of_name())
    clock.pass_by(60)
    store.renew(CSI, {})
    assert store._parts.index.used_at(tree) == clock.walls


def test_a_lease_that_is_younger_than_the_list_is_not_forgotten(
    store: Store, clock: TwoHands, tree: TreeId
) -> None:  # fmt: skip
    store.lease(ID, of_name())
    clock.pass_by(59)
    assert store.renew(CSI, {}) == Renewed()
    assert keeping(store, tree) == (ID,)


def test_a_lease_that_was_taken_again_is_young_again(store: Store, clock: TwoHands, tree: TreeId) -> None:
    """Its holder forgot to release it, and mounts the volume again while an older list is on its way."""
    store.lease(ID, of_name())
    clock.pass_by(3600)
    store.lease(ID, of_name())
    clock.pass_by(1)
    assert store.renew(CSI, {}) == Renewed()
    assert keeping(store, tree) == (ID,)


@pytest.mark.usefixtures("tree")
def test_a_wall_clock_that_is_set_does_not_age_a_lease(store: Store, clock: TwoHands) -> None:
    store.lease(ID, of_name())
    clock.walls += 3600
    assert store.renew(CSI, {}) == Renewed()


@pytest.mark.usefixtures("tree")
def test_a_lease_from_before_the_start_is_old(store: Store, clock: TwoHands) -> None:
    store.lease(ID, of_name())
    again = reopened(store, clock, CSI)
    assert again.renew(CSI, {}) == Renewed(released=(ID,))
    again.close()


@pytest.mark.usefixtures("tree")
def test_a_list_is_of_its_holder_alone(store: Store, clock: TwoHands) -> None:
    store.lease(ID, of_name(holder=NODE))
    clock.pass_by(60)
    store.renew(CSI, {OTHER: of_name()})
    with pytest.raises(Conflict, match="is node's, of m"):
        store.renew(CSI, {ID: of_name()})
    with pytest.raises(Conflict, match="its lease vol-3 is node's"):
        store.renew(CSI, {LeaseId("vol-3"): of_name(holder=NODE)})
    assert [lease.id for lease in store.leases()] == [ID, OTHER]


@pytest.mark.usefixtures("tree")
def test_a_refused_list_changes_nothing_and_was_not_heard(store: Store, clock: TwoHands) -> None:
    store.lease(ID, of_name(holder=NODE))
    store.lease(OTHER, of_name())
    clock.pass_by(60)
    with pytest.raises(Conflict):
        store.renew(CSI, {LeaseId("a"): of_name(), ID: of_name()})
    assert [lease.id for lease in store.leases()] == [ID, OTHER]
    assert stale(store) == [CSI, NODE]


def test_what_is_not_here_is_missing_and_a_name_holds_what_comes(store: Store) -> None:
    answer = store.renew(CSI, {ID: of_name(), OTHER: of_tree(GONE)})
    assert answer == Renewed(taken=(ID, OTHER), missing=(ID, OTHER))
    tree = next(iter(model(store, "m", ONE).trees))
    assert keeping(store, tree) == (ID,)
    assert store.renew(CSI, {ID: of_name(), OTHER: of_tree(GONE)}) == Renewed(missing=(OTHER,))


@pytest.mark.usefixtures("tree")
def test_a_list_is_one_sync_of_the_folder_and_none_if_nothing_is_new(store: Store, clock: TwoHands) -> None:
    store.lease(ID, of_name())
    clock.pass_by(60)
    asked: dict[LeaseId, LeaseAsk] = {LeaseId(f"new-{number}"): of_name() for number in range(100)}
    ops: list[Op] = []
    with fsops.observed(ops.append):
        store.renew(CSI, asked)
    assert [op.kind for op in ops].count(Kind.FSYNC_DIR) == 1
    ops.clear()
    with fsops.observed(ops.append):
        store.renew(CSI, asked)
    assert ops == []


@pytest.mark.usefixtures("tree")
def test_a_list_gives_those_with_a_ttl_a_longer_life_durably(store: Store, clock: TwoHands) -> None:
    store.renew(CSI, {ID: of_name(ttl=90)})
    clock.pass_by(30)
    store.renew(CSI, {ID: of_name(ttl=90)})
    again = reopened(store, clock, CSI)
    assert [lease.expires for lease in again.leases()] == [clock.walls + 90]
    again.close()


def test_holders_of_the_settings_are_stale_until_their_first_list_and_when_they_fall_silent(
    store: Store, clock: TwoHands
) -> None:
    assert stale(store) == [CSI, NODE]
    store.renew(CSI, {})
    clock.pass_by(90)
    store.renew(NODE, {})
    assert stale(store) == []
    clock.pass_by(0.5)
    assert stale(store) == [CSI]


def test_a_wall_clock_that_is_set_silences_no_holder_and_excuses_none(store: Store, clock: TwoHands) -> None:
    store.renew(CSI, {})
    clock.walls += 1e6
    assert stale(store) == [NODE]
    clock.walls -= 2e6
    clock.ticks += 91
    assert stale(store) == [CSI, NODE]


def test_a_start_has_heard_of_nobody(store: Store, clock: TwoHands) -> None:
    store.renew(CSI, {})
    store.renew(NODE, {})
    again = reopened(store, clock, CSI, NODE)
    assert stale(again) == [CSI, NODE]
    again.close()


@pytest.mark.usefixtures("tree")
def test_holders_are_those_of_the_settings_and_those_with_leases(store: Store, clock: TwoHands) -> None:
    store.lease(ID, of_name(holder=SHELL))
    store.renew(CSI, {OTHER: of_name()})
    clock.pass_by(5)
    assert store.holders() == (
        HolderView(holder=SHELL, leases=1, expected=False),
        HolderView(holder=CSI, leases=1, expected=True, silent_for=5.0),
        HolderView(holder=NODE, leases=0, expected=True, stale=True),
    )


@pytest.mark.usefixtures("tree")
def test_a_list_that_the_disk_refused_was_not_heard(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, "fsops.fsync_dir")
    with pytest.raises(CachedError):
        store.renew(CSI, {ID: of_name()})
    assert (stale(store), store.leases()) == ([CSI, NODE], ())


class TestAFileThatCannotBeRead:
    """It may be a lease of anything, so everything stays until somebody says what the lease is."""

    @pytest.fixture
    def unread(self, root: Path, clock: TwoHands) -> Iterator[Store]:
        leased_store(root, clock).close()
        (root / "leases" / f"{ID}.json").write_text("{")
        leased_store(root, clock).close()  # the next start knows of it too
        store = leased_store(root, clock)
        store.put_ref(a_ref("m", None))
        yield store
        store.close()

    def test_keeps_everything(self, unread: Store) -> None:
        assert stale(unread) == [UNREADABLE]
        assert [(lease.id, lease.holder) for lease in unread.leases()] == [(ID, UNREADABLE)]
        assert unread.recovered.leases_damaged == 1
        assert "nothing is evicted until" in unread.warnings[0]

    @pytest.mark.parametrize("restart", [False, True])
    def test_ends_when_it_is_released(self, unread: Store, clock: TwoHands, *, restart: bool) -> None:
        unread.release(ID)
        store = reopened(unread, clock) if restart else unread
        assert (stale(store), store.leases()) == ([], ())
        store.close()

    def test_ends_when_it_is_taken_again(self, unread: Store, clock: TwoHands) -> None:
        lease = unread.lease(ID, of_name())
        store = reopened(unread, clock)
        assert (stale(store), store.leases()) == ([], (lease,))
        store.close()

    def test_ends_when_a_list_names_it(self, unread: Store) -> None:
        assert unread.renew(CSI, {ID: of_name()}) == Renewed(taken=(ID,), missing=(ID,))
        assert stale(unread) == []
