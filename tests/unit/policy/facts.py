"""Snapshots for the tests of decisions: by hand, and any that a store could have."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from cached.policy.snapshot import Keep, Kept, Limits, Partial, Snapshot, Stray, TreeFacts
from cached.types import Digest, IngestKey, ModelName, TreeId

NOW = 1_700_000_000.0
GIB = 1 << 30
LIMITS = Limits(max_bytes=None, min_free=0, keep=0, journal=0)
ROOMY = 1 << 50


def hex_of(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def blob(name: str) -> Digest:
    return Digest(hex_of(name))


def tree(
    name: str, *blobs: str, used: float = 0.0, keeps: Sequence[Keep] = (), who: str = "x", priority: int = 0,
    named: bool = True,
) -> TreeFacts:  # fmt: skip
    return TreeFacts(
        tree=TreeId(hex_of(f"tree {name}")),
        blobs=tuple(map(blob, blobs)),
        names=(ModelName(name),) if named else (),
        used=used,
        priority=priority,
        kept=tuple(Kept(why, who) for why in keeps),
    )


def snapshot_of(
    *trees: TreeFacts, sizes: Mapping[str, int], held: Sequence[str] = (), orphans: Sequence[Stray] = (),
    partials: Sequence[Partial] = (), quarantine: Sequence[Stray] = (), reserved: int = 0, disk_free: int = ROOMY,
) -> Snapshot:  # fmt: skip
    links = Counter(digest for one in trees for digest in one.blobs)
    links.update(map(blob, held))
    by_digest = {blob(name): size for name, size in sizes.items()}
    loose = sum(one.size for one in partials) + sum(one.size for one in quarantine)
    return Snapshot(
        now=NOW,
        trees=trees,
        sizes={**by_digest, **{Digest(stray.id): stray.size for stray in orphans}},
        links=links,
        orphans=tuple(orphans),
        partials=tuple(partials),
        quarantine=tuple(quarantine),
        used=sum(by_digest.values()) + sum(stray.size for stray in orphans) + loose,
        reserved=reserved,
        disk_total=ROOMY,
        disk_free=disk_free,
    )


def partial(name: str, size: int, *, idle: float = 0.0) -> Partial:
    return Partial(key=IngestKey(hex_of(f"partial {name}")), size=size, idle_since=NOW - idle)


def stray(name: str, size: int, *, age: float = 0.0) -> Stray:
    return Stray(id=hex_of(f"stray {name}"), size=size, since=NOW - age)


BLOBS = [f"b{number}" for number in range(8)]
_amounts = st.integers(0, 100)
_ages = st.floats(0, 30 * 86400)
_trees = st.lists(
    st.tuples(
        st.sets(st.sampled_from(BLOBS), max_size=4), st.integers(0, 5), st.sets(st.sampled_from(Keep), max_size=2),
        st.integers(-3, 3), st.booleans(),
    ),
    max_size=8,
)  # fmt: skip


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    trees = [
        tree(f"t{number}", *sorted(blobs), used=float(used), keeps=sorted(keeps, key=lambda keep: keep.rank),
             priority=priority, named=named)
        for number, (blobs, used, keeps, priority, named) in enumerate(draw(_trees))
    ]  # fmt: skip
    linked = {digest for one in trees for digest in one.blobs}
    names = [name for name in BLOBS if blob(name) in linked]
    return snapshot_of(
        *trees,
        sizes={name: draw(_amounts) for name in names},
        held=sorted(draw(st.sets(st.sampled_from(names), max_size=2))) if names else (),
        orphans=[stray(f"o{n}", draw(_amounts), age=draw(_ages)) for n in range(draw(st.integers(0, 3)))],
        partials=[partial(f"p{n}", draw(_amounts), idle=draw(_ages)) for n in range(draw(st.integers(0, 3)))],
        quarantine=[stray(f"q{n}", draw(_amounts), age=draw(_ages)) for n in range(draw(st.integers(0, 3)))],
        reserved=draw(_amounts),
        disk_free=draw(st.integers(0, 500)),
    )


def frees(snapshot: Snapshot, gone: set[str]) -> int:
    """Bytes that really come back when these go: counted from the facts alone, blob by blob."""
    links = Counter(snapshot.links)
    for one in snapshot.trees:
        if one.tree in gone:
            links.subtract(one.blobs)
    blobs = {digest for one in snapshot.trees if one.tree in gone for digest in one.blobs if not links[digest]}
    loose = [*snapshot.orphans, *snapshot.quarantine]
    return (
        sum(snapshot.sizes[digest] for digest in blobs)
        + sum(one.size for one in loose if one.id in gone)
        + sum(one.size for one in snapshot.partials if one.key in gone)
    )
