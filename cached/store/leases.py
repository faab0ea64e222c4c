"""Leases: who reads what. `leases/<id>.json` is the truth, all of them are in memory after the start.

A lease protects from the moment it is in memory, and is answered for once it is durable; many at once share one
sync of the folder. A lease by name holds every tree that the name has pointed to since it was taken: they are
written into it (`follow`) before the name moves, so that neither clocks nor a removed ref matter.

On disk a lease ends at a wall time; in this process its end is measured by the monotonic clock, so that a wall clock
that is set neither ends nor prolongs it. It holds until `expire` takes it down: looking at it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from cached import codec
from cached.api.types import HolderView, LeaseAsk, Renewed
from cached.clock import Clock
from cached.config import Leases as Settings
from cached.errors import Conflict
from cached.layout import Layout
from cached.store.holds import Holds
from cached.store.leasebook import Held, LeaseBook
from cached.store.records import Lease, read_named
from cached.store.together import Change, Together
from cached.store.transitions import Transitions
from cached.types import HolderName, LeaseId, LeaseKind, ModelName, TreeId

LIST_AGE = 60.0
"""Seconds. A complete list may be so much older than a lease that it does not know of: that lease is not forgotten."""
UNREADABLE = HolderName("unreadable")
"""Stands for the holder of a lease file that cannot be read. It may hold anything, so all of it is kept until the
lease is taken again, listed or released."""

Resolve = Callable[[LeaseAsk], tuple[TreeId, ...] | None]
"""The trees that an asked lease is of, now; None if there is no such name or tree. Called under `holds.lock`."""


class Leases:
    """Thread-safe: looked at and changed in memory under `holds.lock`; the disk is waited for outside of it, but by
    `follow`, whose caller has it."""

    def __init__(
        self, layout: Layout, holds: Holds, *, leases: Iterable[Lease], settings: Settings, clock: Clock,
        transitions: Transitions,
    ) -> None:  # fmt: skip
        self._layout = layout
        self._holds = holds
        self._settings = settings
        self._clock = clock
        self._transitions = transitions
        self._disk = Together(layout.leases)
        self._heard: dict[HolderName, float] = {}
        wall, now = clock.wall(), clock.monotonic()
        self._book = LeaseBook(
            Held(lease, None if lease.expires is None else now + lease.expires - wall, now - LIST_AGE)
            for lease in leases
        )

    # ------------------------------------------------------------------ change

    def take(self, identity: LeaseId, ask: LeaseAsk, resolve: Resolve) -> Lease | None:
        """Protect what is asked for, now and durably; None if `resolve` knows no such thing.

        Taken again by its holder it is renewed: it keeps what it holds, and its TTL begins anew. Raises Conflict when
        the id is another holder's or of another model, or its tree is on its way out; OSError, then it is as it was.
        """
        with self._holds.lock:
            trees = resolve(ask)
            if trees is None:
                return None
            self._refuse(identity, ask, trees)
            new = self._known(identity) is None
            held = self._held(identity, ask, trees, since=self._clock.monotonic())
            change = self._enter(held)
        self._finish({identity: change})
        if new:
            self._transitions.record("lease_taken", id=identity, holder=ask.holder, name=ask.name)
        return held.lease

    def release(self, identity: LeaseId) -> Lease | None:
        """End it, durably; None if there is none. Raises OSError, then it still holds."""
        with self._holds.lock:
            old = self._book.get(identity)
            if old is None:
                return None
            change = self._leave(identity)
        self._finish({identity: change})
        self._transitions.record("lease_released", id=identity, holder=old.lease.holder)
        return old.lease

    def renew(
        self, holder: HolderName, asked: Mapping[LeaseId, LeaseAsk], resolve: Resolve
    ) -> tuple[Renewed, tuple[Lease, ...]]:
        """Make the leases of `holder` exactly these, with one sync; also the leases that this ended.

        Those it has and did not name are released, unless they were taken in the last `LIST_AGE`. What is not here is
        told as missing, and by name held from when it comes. Raises Conflict, then nothing changed; OSError, then
        those that the disk refused are as they were, and the list does not count as heard.
        """
        with self._holds.lock:
            now = self._clock.monotonic()
            found = {identity: resolve(ask) for identity, ask in asked.items()}
            for identity, ask in asked.items():
                self._refuse(identity, ask, found[identity] or (), holder=holder)
            new = sorted(identity for identity in asked if self._known(identity) is None)
            changes = {
                identity: self._enter(self._held(identity, ask, found[identity] or (), since=None))
                for identity, ask in asked.items()
            }
            ended = self._forgotten(holder, asked, before=now - LIST_AGE)
            changes |= {lease.id: self._leave(lease.id) for lease in ended}
        self._finish(changes)
        self._heard[holder] = now
        for identity in new:
            self._transitions.record("lease_taken", id=identity, holder=holder, name=asked[identity].name)
        for lease in ended:
            self._transitions.record("lease_leaked", id=lease.id, holder=holder, name=lease.name)
        missing = tuple(sorted(identity for identity, trees in found.items() if not trees))
        return Renewed(taken=tuple(new), released=tuple(lease.id for lease in ended), missing=missing), ended

    def follow(self, name: ModelName, tree: TreeId) -> None:
        """The name is about to point to `tree`: leases of the name hold it as well, durably, from now on. OSError."""
        with self._holds.lock:
            changes = {}
            for held in self._book.all():
                lease = held.lease
                if lease.name == name and not (tree in lease.trees and self._book.is_durable(lease.id)):
                    trees = lease.trees if tree in lease.trees else (*lease.trees, tree)
                    changes[lease.id] = self._enter(Held(replace(lease, trees=trees), held.ends, held.since))
        self._finish(changes)

    def expire(self) -> tuple[Lease, ...]:
        """End those whose TTL is over; they. Raises OSError, then they still hold."""
        with self._holds.lock:
            now = self._clock.monotonic()
            over = tuple(held.lease for held in self._book.all() if held.ends is not None and held.ends <= now)
            changes = {lease.id: self._leave(lease.id) for lease in over}
        self._finish(changes)
        for lease in over:
            self._transitions.record("lease_expired", id=lease.id, holder=lease.holder, name=lease.name)
        return over

    # ------------------------------------------------------------------ look

    def of(self, tree: TreeId) -> tuple[Lease, ...]:
        """The leases that hold a tree, by id."""
        with self._holds.lock:
            return tuple(held.lease for held in self._book.of(tree))

    def all(self) -> tuple[Lease, ...]:
        """Every lease, by id."""
        with self._holds.lock:
            return tuple(held.lease for held in self._book.all())

    def holders(self) -> tuple[HolderView, ...]:
        """Who holds leases, and the holders that the settings name."""
        counts: dict[HolderName, int] = dict.fromkeys(self._settings.holders, 0)
        for lease in self.all():
            counts[lease.holder] = counts.get(lease.holder, 0) + 1
        stale, now = self.stale(), self._clock.monotonic()
        return tuple(
            HolderView(
                holder=holder,
                leases=count,
                expected=holder in self._settings.holders or holder == UNREADABLE,
                silent_for=now - self._heard[holder] if holder in self._heard else None,
                stale=holder in stale,
            )
            for holder, count in sorted(counts.items())
        )

    def stale(self) -> tuple[HolderName, ...]:
        """Holders of the settings that have not sent a complete list for `stale_after`, or since the start; and
        `UNREADABLE`, while there is a lease of it."""
        oldest = self._clock.monotonic() - self._settings.stale_after
        silent = [holder for holder in self._settings.holders if self._heard.get(holder, oldest - 1) < oldest]
        unread = any(lease.holder == UNREADABLE for lease in self.all())
        return (*silent, UNREADABLE) if unread else tuple(silent)

    # ------------------------------------------------------------------ inside, under holds.lock

    def _known(self, identity: LeaseId) -> Held | None:
        """The lease, if it is one and can be read."""
        held = self._book.get(identity)
        return held if held is not None and held.lease.holder != UNREADABLE else None

    def _held(self, identity: LeaseId, ask: LeaseAsk, trees: Sequence[TreeId], *, since: float | None) -> Held:
        """What the lease becomes. `since` None: it keeps the time it was taken at, if it has been."""
        now, wall = self._clock.monotonic(), self._clock.wall()
        old = self._known(identity)
        before = old.lease.trees if old else ()
        lease = Lease(
            id=identity,
            holder=ask.holder,
            kind=ask.kind,
            name=ask.name,
            trees=(*before, *(tree for tree in trees if tree not in before)),
            taken=old.lease.taken if old else wall,
            expires=None if ask.ttl is None else wall + ask.ttl,
        )
        if since is None:
            since = old.since if old else now
        return Held(lease, None if ask.ttl is None else now + ask.ttl, since)

    def _refuse(
        self, identity: LeaseId, ask: LeaseAsk, trees: Iterable[TreeId], *, holder: HolderName | None = None
    ) -> None:  # fmt: skip
        if holder is not None and ask.holder != holder:
            raise Conflict(f"the list is {holder}'s, its lease {identity} is {ask.holder}'s", hint="list only your own")
        old = self._known(identity)
        if old is not None and (old.lease.holder, old.lease.name) != (ask.holder, ask.name):
            raise Conflict(
                f"the lease {identity} is {old.lease.holder}'s, of {old.lease.name or 'a tree'}",
                hint="release it first, or use another id",
                details={"id": identity, "holder": old.lease.holder},
            )
        if any(tree in self._holds.condemned for tree in trees):
            raise Conflict(f"what the lease {identity} is of is just being evicted", hint="ask again in a moment")

    def _forgotten(
        self, holder: HolderName, asked: Mapping[LeaseId, LeaseAsk], *, before: float
    ) -> tuple[Lease, ...]:  # fmt: skip
        return tuple(
            held.lease
            for held in self._book.all()
            if held.lease.holder == holder and held.lease.id not in asked and held.since <= before
        )

    def _enter(self, held: Held) -> Change | None:
        """It counts from now on; what the disk has to be told, None if it knows already."""
        identity, old = held.lease.id, self._book.get(held.lease.id)
        if old is not None and old.lease == held.lease and self._book.is_durable(identity):
            self._book.refresh(held)
            return None
        change = self._disk.write(self._layout.lease(identity), codec.encode(held.lease))
        self._book.enter(identity, held, change)
        return change

    def _leave(self, identity: LeaseId) -> Change:
        change = self._disk.remove(self._layout.lease(identity))
        self._book.enter(identity, None, change)
        return change

    # ------------------------------------------------------------------ outside of it

    def _finish(self, changes: Mapping[LeaseId, Change | None]) -> None:
        """Wait for the disk. What it refused is in memory as it was before. Raises OSError."""
        waited = {identity: change for identity, change in changes.items() if change}
        try:
            self._disk.wait(tuple(waited.values()))
        finally:
            with self._holds.lock:
                for identity in waited:
                    if not self._book.settle(identity):  # nobody has it, but its file may lie there
                        self._disk.remove(self._layout.lease(identity))


def read_leases(layout: Layout) -> tuple[tuple[Lease, ...], tuple[Path, ...]]:
    """Every lease on disk, and the files named like one that cannot be read. Raises OSError.

    An unreadable one is a lease of `UNREADABLE`; its file stays, so that the next start knows of it too.
    """
    leases, damaged = read_named(layout.leases, Lease, lambda lease: layout.lease(lease.id))
    return (*leases, *(lease for path in damaged if (lease := _by_name(path)))), damaged


def _by_name(path: Path) -> Lease | None:
    try:
        identity = LeaseId(path.stem)
    except ValueError:
        return None  # no lease was ever called so
    return Lease(id=identity, holder=UNREADABLE, kind=LeaseKind.VOLUME, taken=path.stat().st_mtime)
