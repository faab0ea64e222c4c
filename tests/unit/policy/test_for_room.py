"""Room for a download: enough of what nobody needs, or nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cached.policy.evict import for_gc, for_room, stale
from cached.policy.snapshot import Keep, Snapshot
from tests.unit.policy.facts import frees, partial, snapshot_of, snapshots, stray, tree

DAY = 86400.0
ORDER = ["quarantine", "partial", "blob", "tree"]
goals = st.integers(0, 600)


def kinds_and_names(snapshot: Snapshot, goal: int) -> list[str]:
    names = {str(one.tree): one.title for one in snapshot.trees}
    return [names.get(victim.id, victim.kind) for victim in for_room(snapshot, goal).victims]


@given(snapshots(), goals)
def test_what_a_plan_promises_is_what_comes_back(snapshot: Snapshot, goal: int) -> None:
    plan = for_room(snapshot, goal)
    assert plan.frees == frees(snapshot, {victim.id for victim in plan.victims})


@given(snapshots(), goals)
def test_it_is_enough_exactly_if_all_that_may_go_would_be(snapshot: Snapshot, goal: int) -> None:
    assert for_room(snapshot, goal).enough == (for_gc(snapshot, None).frees >= goal)


@given(snapshots(), goals)
def test_a_tree_with_a_reason_to_stay_is_in_no_plan_for_room(snapshot: Snapshot, goal: int) -> None:
    kept = {one.tree for one in snapshot.trees if one.kept}
    for plan in (for_room(snapshot, goal), for_gc(snapshot, None), stale(snapshot)):
        assert kept & {victim.id for victim in plan.victims} == set()
        assert {one.tree for one in plan.kept} >= kept


@given(snapshots(), st.integers(1, 600))
def test_without_its_last_victim_it_would_miss_the_goal(snapshot: Snapshot, goal: int) -> None:
    plan = for_room(snapshot, goal)
    if plan.enough:
        assert frees(snapshot, {victim.id for victim in plan.victims[:-1]}) < goal


@given(snapshots(), goals)
def test_no_tree_goes_for_nothing(snapshot: Snapshot, goal: int) -> None:
    gone = {victim.id for victim in for_room(snapshot, goal).victims}
    staying = {digest for one in snapshot.trees if one.tree not in gone for digest in one.blobs}
    for one in snapshot.trees:
        if one.tree in gone:
            assert set(one.blobs) - staying


@given(snapshots())
def test_the_order_is_quarantine_partials_orphans_and_trees_by_last_use(snapshot: Snapshot) -> None:
    victims = for_gc(snapshot, None).victims
    kinds = [ORDER.index(victim.kind) for victim in victims]
    assert kinds == sorted(kinds)
    used = {one.tree: one.used for one in snapshot.trees}
    times = [time for victim in victims for tree, time in used.items() if tree == victim.id]
    assert times == sorted(times)


@given(snapshots(), goals)
def test_every_tree_either_goes_or_is_told_as_staying(snapshot: Snapshot, goal: int) -> None:
    plan = for_room(snapshot, goal)
    gone = [victim.id for victim in plan.victims if victim.kind == "tree"]
    assert sorted([*gone, *(one.tree for one in plan.kept)]) == sorted(one.tree for one in snapshot.trees)


def test_a_shared_blob_counts_once_and_only_with_its_last_tree() -> None:
    old, new = tree("old", "shared", "a", used=1.0), tree("new", "shared", used=2.0)
    snapshot = snapshot_of(old, new, sizes={"shared": 100, "a": 1})
    assert [victim.frees for victim in for_gc(snapshot, None).victims] == [1, 100]


def test_a_blob_that_a_download_holds_frees_nothing() -> None:
    snapshot = snapshot_of(tree("m", "b"), sizes={"b": 100}, held=["b"])
    assert for_gc(snapshot, None).frees == 0
    assert not for_room(snapshot, 1).enough


def test_a_tree_whose_blobs_all_stay_is_spared() -> None:
    mirror, kept, old = (
        tree("mirror", "b", used=1.0), tree("kept", "b", keeps=[Keep.LEASED]), tree("old", "c", used=2.0)
    )  # fmt: skip
    snapshot = snapshot_of(mirror, kept, old, sizes={"b": 100, "c": 50})
    assert kinds_and_names(snapshot, 50) == ["old"]


def test_partials_give_way_before_models_do() -> None:
    snapshot = snapshot_of(tree("m", "b"), sizes={"b": 100}, partials=[partial("p", 10)], quarantine=[stray("q", 5)])
    assert kinds_and_names(snapshot, 12) == ["quarantine", "partial"]
    assert kinds_and_names(snapshot, 16) == ["quarantine", "partial", "m"]


def test_nothing_is_needed_for_nothing() -> None:
    assert for_room(snapshot_of(tree("m", "b"), sizes={"b": 1}), 0).victims == ()


def test_age_alone_takes_day_old_partials_and_orphans_week_old_quarantine_and_trees_without_a_name() -> None:
    snapshot = snapshot_of(
        tree("named", "a"), tree("orphan", "b", named=False), tree("leased", "c", named=False, keeps=[Keep.LEASED]),
        sizes={"a": 1, "b": 2, "c": 4},
        partials=[partial("old", 10, idle=DAY), partial("new", 20, idle=DAY - 1)],
        orphans=[stray("old", 100, age=DAY), stray("new", 200, age=DAY - 1)],
        quarantine=[stray("q-old", 1000, age=7 * DAY), stray("q-new", 2000, age=7 * DAY - 1)],
    )  # fmt: skip
    plan = stale(snapshot)
    assert [(victim.kind, victim.frees) for victim in plan.victims] == [
        ("quarantine", 1000), ("partial", 10), ("blob", 100), ("tree", 2),
    ]  # fmt: skip
