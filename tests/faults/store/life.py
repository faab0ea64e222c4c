"""What a store goes through between two starts, in little: every durable change that it knows, as callers ask it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cached.api.types import LeaseAsk, Want
from cached.errors import CachedError
from cached.layout import Layout
from cached.store import fsck
from cached.store.ingest import Ingest
from cached.store.records import Held, WantList
from cached.store.store import Store
from cached.types import HolderName, LeaseId, LeaseKind, ModelName
from tests.unit.store.making import (
    URI,
    a_ref,
    broken_promises,
    digest_of,
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
            ingest = fetched(store, data, stack)
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


def fetched(store: Store, data: bytes, stack: contextlib.ExitStack) -> Ingest:
    """An ingest with all its bytes, which is dropped at the end of the stack unless it is sealed or closed by then."""
    ingest = store.begin_ingest("test", digest_of(data), len(data), resumable=len(data) > 100)
    stack.callback(ingest.discard)
    with ingest.path.open("r+b") as file:
        file.write(data)
    return ingest


@dataclass(slots=True)
class Diary:
    """Which steps of a life have begun, and which were answered for."""

    begun: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """One of them, from its call to its answer."""
        self.begun.add(name)
        yield
        self.done.add(name)

    def owed(self) -> set[str]:
        """Paths below the root that must be there, whatever else happened."""
        return {path for path, (made, undone) in FACTS.items() if made in self.done and undone not in self.begun}

    def over(self) -> set[str]:
        """Paths that must not come back."""
        return {path for path, (_, undone) in FACTS.items() if undone in self.done}


FACTS = {
    "refs/m.json": ("put m", "remove m"),
    "models/m/small": ("put m", "remove m"),
    "leases/v1.json": ("lease m", "release m"),
    "refs/n.json": ("put n", "-"),
    "models/n/other": ("put n", "-"),
    "pins/n.json": ("pin n", "unpin n"),
    "wants/csi.json": ("want n", "-"),  # an empty list is kept: it says that nothing is wanted
}
"""By path: the step that makes it, and the one that ends it."""


def life(store: Store, diary: Diary | None = None) -> None:
    """May be lived again on the same store, also after it broke off anywhere."""
    diary = diary or Diary()
    with diary.step("put m"):
        put(store, M, FIRST)
    with diary.step("lease m"):
        store.lease(LeaseId("v1"), LeaseAsk(holder=HOLDER, kind=LeaseKind.VOLUME, name=M))
    with diary.step("put n"):
        put(store, N, SECOND)
    with diary.step("pin n"):
        store.pin(N)
    with diary.step("want n"):
        store.put_wants(WantList(holder=HOLDER, wants=(Want(uri=URI, name=N),), at=1.0))
    with diary.step("move m"):
        put(store, M, THIRD)  # under its lease
    with diary.step("release m"):
        store.release(LeaseId("v1"))
    with diary.step("unpin n"):
        store.unpin(N)
    with diary.step("want nothing"):
        store.put_wants(WantList(holder=HOLDER, wants=(), at=2.0))
    with diary.step("remove m"):
        store.remove(M)
    with contextlib.ExitStack() as stack:
        fetched(store, b"a partial" * 100, stack).close()
        fetched(store, b"of no use" * 100, stack)
    store.sweep()


def problem_of(attempt: Callable[[], None]) -> CachedError | None:
    """The error that an attempt ended with; None if it did not. Anything but a CachedError is raised."""
    try:
        attempt()
    except CachedError as error:
        return error
    return None


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
