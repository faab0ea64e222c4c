"""Whether a download fits, and what a refusal tells."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from cached.errors import Code
from cached.policy.admit import missing, refusal
from cached.policy.evict import for_room
from cached.policy.snapshot import Keep, Limits, Snapshot
from tests.unit.policy.facts import GIB, LIMITS, snapshot_of, tree

amounts = st.integers(0, 1000)
limits = st.builds(Limits, max_bytes=st.none() | amounts, min_free=amounts, keep=amounts, journal=amounts)


@given(st.integers(1, 1000), limits, amounts, amounts, amounts)
def test_what_is_missing_is_just_what_the_limits_lack(
    needed: int, limits: Limits, used: int, reserved: int, free: int
) -> None:
    lacking = missing(needed, limits, used=used, reserved=reserved, disk_free=free)

    def fits(freed: int) -> bool:
        on_disk = free + freed - reserved - needed >= limits.min_free + limits.journal
        return on_disk and (limits.max_bytes is None or used - freed + reserved + needed <= limits.max_bytes)

    assert fits(lacking)
    assert lacking == 0 or not fits(lacking - 1)


def test_a_download_of_nothing_always_fits() -> None:
    assert missing(0, replace(LIMITS, min_free=10), used=0, reserved=0, disk_free=0) == 0


def full() -> Snapshot:
    return snapshot_of(
        tree("llama", "a", "shared", keeps=[Keep.LEASED, Keep.RECENT], who="csi csi-abc"),
        tree("mixtral", "b", "shared", keeps=[Keep.PINNED]),
        tree("phi", "c", keeps=[Keep.WANTED], who="operator"),
        tree("new", "d", keeps=[Keep.RECENT], who="3 min ago"),
        tree("old", "e"),
        sizes={"a": 100 * GIB, "shared": 20 * GIB, "b": 50 * GIB, "c": 30 * GIB, "d": 5 * GIB, "e": 2 * GIB},
        reserved=3 * GIB,
    )


def test_a_refusal_tells_the_numbers_each_tree_once_under_its_strongest_reason() -> None:
    snapshot, limits = full(), replace(LIMITS, max_bytes=220 * GIB)
    error = refusal(40 * GIB, for_room(snapshot, 30 * GIB), snapshot, limits)
    assert error.code == Code.INSUFFICIENT_SPACE
    assert error.details == {
        "needed": 40 * GIB, "free": 10 * GIB, "reserved": 3 * GIB, "evictable": 2 * GIB, "leased": 120 * GIB,
        "pinned": 50 * GIB, "mounted": 0, "in_flight": 0, "recent": 5 * GIB, "wanted": 30 * GIB, "holder_stale": 0,
    }  # fmt: skip


def test_a_refusal_names_the_three_largest_and_what_mends_it() -> None:
    snapshot, limits = full(), replace(LIMITS, max_bytes=220 * GIB)
    error = refusal(40 * GIB, for_room(snapshot, 30 * GIB), snapshot, limits)
    assert error.message == (
        "40.0 GiB are needed, 10.0 GiB are free, and 2.00 GiB more could be made free; 3.00 GiB are promised to other "
        "downloads. Room is held by llama 120 GiB: leased by csi csi-abc; mixtral 50.0 GiB: pinned; "
        "phi 30.0 GiB: wanted by operator"
    )
    assert error.hint == (
        "raise budget.max_bytes (220 GiB), or `cachectl unpin mixtral`; "
        "`cachectl gc --dry-run` shows what stays and why"
    )


def test_when_the_disk_is_what_lacks_the_hint_names_min_free() -> None:
    snapshot, limits = snapshot_of(sizes={}, disk_free=5 * GIB), replace(LIMITS, min_free=4 * GIB, max_bytes=500 * GIB)
    error = refusal(2 * GIB, for_room(snapshot, GIB), snapshot, limits)
    assert error.hint.startswith("free other files on the disk, or lower budget.min_free (4.00 GiB)")


def test_when_only_a_silent_holder_is_in_the_way_the_code_says_so() -> None:
    silent = tree("a", "a", keeps=[Keep.HOLDER_STALE], who="csi")
    leased = tree("b", "b", keeps=[Keep.LEASED, Keep.HOLDER_STALE], who="csi")
    snapshot, limits = snapshot_of(silent, leased, sizes={"a": 10, "b": 10}), replace(LIMITS, max_bytes=20)
    error = refusal(10, for_room(snapshot, 10), snapshot, limits)
    assert (error.code, error.hint) == (Code.HOLDER_STALE, "find out why csi renews its leases no more")
    more = refusal(15, for_room(snapshot, 15), snapshot, limits)
    assert more.code == Code.INSUFFICIENT_SPACE
