"""Others fill the disk, or the budget is nearly used: what goes, how much, and what stays whatever happens."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from cached.policy.evict import Plan, for_pressure
from cached.policy.snapshot import Keep, Limits, Snapshot
from tests.unit.policy.facts import LIMITS, snapshot_of, snapshots, tree

limits = st.builds(
    Limits,
    max_bytes=st.none() | st.integers(1, 800),
    min_free=st.integers(0, 600),
    keep=st.integers(0, 200),
    journal=st.just(0),
)


def names(snapshot: Snapshot, plan: Plan) -> list[str]:
    titles = {str(one.tree): one.title for one in snapshot.trees}
    return [titles[victim.id] for victim in plan.victims]


@given(snapshots(), limits)
def test_only_what_nothing_keeps_goes_and_then_what_wants_alone_keep(snapshot: Snapshot, limits: Limits) -> None:
    reasons = {str(one.tree): {kept.why for kept in one.kept} for one in snapshot.trees}
    taken = [reasons[victim.id] for victim in for_pressure(snapshot, limits).victims if victim.kind == "tree"]
    free = [not why for why in taken]
    assert all(why <= {Keep.WANTED} for why in taken)
    assert free == sorted(free, reverse=True)


@given(snapshots(), limits)
def test_nothing_more_goes_once_the_kept_share_is_reached(snapshot: Snapshot, limits: Limits) -> None:
    plan = for_pressure(snapshot, limits)
    before_the_last = sum(victim.frees for victim in plan.victims[:-1])
    assert not plan.victims or snapshot.used - before_the_last > limits.keep


@given(snapshots(), limits)
def test_without_want_of_room_nothing_goes(snapshot: Snapshot, limits: Limits) -> None:
    calm = replace(snapshot, disk_free=snapshot.reserved + limits.min_free)
    unlimited = replace(limits, max_bytes=None)
    assert for_pressure(calm, unlimited).victims == ()


def test_all_that_may_go_does_even_if_that_is_not_enough() -> None:
    snapshot = snapshot_of(tree("a", "a", used=1), tree("b", "b", used=2), sizes={"a": 10, "b": 10}, disk_free=0)
    plan = for_pressure(snapshot, replace(LIMITS, min_free=1000))
    assert names(snapshot, plan) == ["a", "b"]


def test_wanted_trees_go_last_from_the_lowest_priority_and_leased_ones_never() -> None:
    snapshot = snapshot_of(
        tree("high", "a", keeps=[Keep.WANTED], priority=10, used=1),
        tree("low", "b", keeps=[Keep.WANTED], priority=-10, used=3),
        tree("read", "c", keeps=[Keep.LEASED, Keep.WANTED], priority=-100),
        tree("free", "d", used=9),
        sizes=dict.fromkeys("abcd", 10),
        disk_free=0,
    )
    assert names(snapshot, for_pressure(snapshot, replace(LIMITS, min_free=15))) == ["free", "low"]
    assert names(snapshot, for_pressure(snapshot, replace(LIMITS, min_free=500))) == ["free", "low", "high"]


def test_a_silent_holder_stops_even_pressure() -> None:
    snapshot = snapshot_of(tree("a", "a", keeps=[Keep.HOLDER_STALE]), sizes={"a": 10}, disk_free=0)
    assert for_pressure(snapshot, replace(LIMITS, min_free=500)).victims == ()


def test_what_was_promised_to_downloads_counts_as_written() -> None:
    snapshot = snapshot_of(tree("a", "a"), sizes={"a": 10}, disk_free=100, reserved=60)
    assert for_pressure(snapshot, replace(LIMITS, min_free=40)).goal == 0
    assert for_pressure(snapshot, replace(LIMITS, min_free=45)).goal == 5


def test_a_budget_that_is_nearly_used_is_brought_down_to_the_low_mark() -> None:
    trees = [tree(f"t{n}", f"b{n}", used=n) for n in range(20)]
    snapshot = snapshot_of(*trees, sizes={f"b{n}": 5 for n in range(20)})
    assert for_pressure(snapshot, replace(LIMITS, max_bytes=106)).goal == 0
    plan = for_pressure(snapshot, replace(LIMITS, max_bytes=100))
    assert (plan.goal, names(snapshot, plan)) == (10, ["t0", "t1"])


def test_what_is_wanted_does_not_go_for_headroom_of_our_own_budget() -> None:
    snapshot = snapshot_of(tree("a", "a", keeps=[Keep.WANTED]), sizes={"a": 100})
    assert for_pressure(snapshot, replace(LIMITS, max_bytes=100)).victims == ()


def test_buildkits_rule_decides_how_much_stays() -> None:
    # keep = max(reserved, min(max_used, total - (min_free - free))): 100 used, 30 short, 80 reserved
    snapshot = snapshot_of(tree("a", "a"), sizes={"a": 100}, disk_free=70)
    assert for_pressure(snapshot, replace(LIMITS, min_free=100, keep=80)).goal == 20
    assert for_pressure(snapshot, replace(LIMITS, min_free=100, keep=10)).goal == 30
