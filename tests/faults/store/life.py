"""What a store goes through between two starts, in little: every durable change that it knows, as its callers ask for it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from cached.api.types import LeaseAsk, Want
from cached.layout import Layout
from cached.store import fsck
from cached.store.records import Held, WantList
from cached.store.store import Store
from cached.types import HolderName, LeaseId, LeaseKind, ModelName
from tests.unit.store.making import (
    URI,
    a_ref,
    broken_promises,
    digest_of,
    downloaded,
    leftovers,
    listed,
    open_store,
    part,
)

M, N = ModelName("m"), ModelName("n")
HOLDER = HolderName("csi")
BIG, SMALL, OTHER = b"big" * 4000, b"small", b"other"
FIRST, SECOND, THIRD = {"a/big": BIG, "small": SMALL}, {"big": BIG, "other": OTHER}, {"small": SMALL}


def put(store: Store, name: str, files: Mapping[str, bytes]) -> None:
    """What the engine does for one want: take what is here, make room for the rest, fetch, publish, record."""
    missing = [data for data in files.values() if store.blob_size(digest_of(data)) is None]
    with contextlib.ExitStack() as stack:
        stack.enter_context(store.admit(sum(map(len, missing))))
        items = []
        for data in missing:
            ingest = downloaded(store, data, resumable=len(data) > 100)
            stack.callback(ingest.discard)  # does nothing once it is sealed
            if not ingest.parts:
                ingest.journal([part(0, ingest.size)])
            items.append((ingest, digest_of(data)))
        store.seal(items)
        found = store.publish(listed(files))
    old, new = store.ref(ModelName(name)), a_ref(name, found.tree)
    if old and old.placed and old.placed.tree != found.tree:
        left = Held(tree=old.placed.tree, since=1.0, until=2.0)
        new = msgspec.structs.replace(new, history=(*old.history, left))
    store.put_ref(new)


def life(store: Store) -> None:
    """May be lived again on the same store, also after it broke off anywhere."""
    put(store, M, FIRST)
    store.lease(LeaseId("v1"), LeaseAsk(holder=HOLDER, kind=LeaseKind.VOLUME, name=M))
    put(store, N, SECOND)
    store.pin(N)
    store.put_wants(WantList(holder=HOLDER, wants=(Want(uri=URI, name=N),), at=1.0))
    put(store, M, THIRD)  # the name moves under its lease
    store.release(LeaseId("v1"))
    store.unpin(N)
    store.put_wants(WantList(holder=HOLDER, wants=(), at=2.0))
    store.remove(M)
    downloaded(store, b"a partial" * 100, resumable=True).close()
    downloaded(store, b"of no use" * 100, resumable=True).discard()
    store.sweep()


def check_after(store: Store) -> None:
    """The same life goes through on the store that met a fault, nothing is damaged, and what a removal that failed
    left behind goes with the next start. Closes the store."""
    root = store.layout.root
    assert store.usage().bytes_reserved == 0
    life(store)
    check_counts(store)
    assert fsck.check(store.layout, quick=True).problems == []
    store.close()
    again = open_store(root)
    assert (again.recovered.models_damaged, again.recovered.blobs_quarantined) == (0, 0)
    again.sweep()  # blobs that a removal could not free, and that nobody has announced
    check_counts(again)
    sizes = sorted(path.stat().st_size for path in again.layout.blobs.glob("*/*"))
    assert (list(again.refs()), sizes) == ([N], [len(OTHER), len(BIG)])
    again.close()
    assert (findings(root), broken_promises(root), leftovers(root)) == ([], [], [])


def check_counts(store: Store) -> None:
    """What the store counts is what is on the disk."""
    usage, sizes = store.usage(), [path.stat().st_size for path in store.layout.blobs.glob("*/*")]
    assert (usage.blobs, usage.bytes_blobs, usage.bytes_partial, usage.bytes_reserved) == (len(sizes), sum(sizes), 0, 0)


def findings(root: Path) -> list[str]:
    """Damage and leftovers in a root that nobody has open. What a disk has of its own is not ours."""
    report = fsck.check(Layout(root), quick=False)
    return [f"{one.what}: {one.problem}" for one in (*report.problems, *report.notes) if one.what != "lost+found"]
