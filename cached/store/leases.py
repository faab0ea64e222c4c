"""Leases: who reads what. `leases/<id>.json` is the truth, all of them are in memory after the start.

A lease protects from the moment it is in memory, and is answered for once it is durable; many at once share one
sync of the folder. A lease by name holds every tree that the name has pointed to since it was taken: they are
written into it (`follow`) before the name moves, so that neither clocks nor a removed ref matter.

On disk a lease ends at a wall time; in this process its end is measured by the monotonic clock, so that a wall clock
that is set neither ends nor prolongs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from cached import codec
from cached.api.types import HolderView, LeaseAsk, Renewed
from cached.clock import Clock
from cached.config import Leases as Settings
from cached.errors import Conflict
from cached.layout import Layout
from cached.store.holds import Holds
from cached.store.records import Lease, read_named
from cached.store.together import Change, Together
from cached.store.transitions import Transitions
from cached.types import HolderName, LeaseId, ModelName, TreeId

LIST_AGE = 60.0
"""Seconds. A complete list may be so much older than a lease that it does not know of: that lease is not forgotten."""

Resolve = Callable[[LeaseAsk], tuple[TreeId, ...] | None]
"""The trees that an asked lease is of, now; None if there is no such name or tree. Called under `holds.lock`."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A lease in memory. Monotonic seconds: when it ends (None: never by itself), since when it is known here."""

    lease: Lease
    ends: float | None
    since: float


class Leases:
    """Thread-safe: looked at and changed in memory under `holds.lock`; the disk is waited for outside of it."""

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
        self._by_tree: dict[TreeId, set[LeaseId]] = {}
        self._held: dict[LeaseId, _Held] = {}
        wall, now = clock.wall(), clock.monotonic()
        for lease in leases:
            ends = None if lease.expires is None else now + lease.expires - wall
            self._put(_Held(lease, ends, now - LIST_AGE))

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
            old = self._held.get(identity)
            lease, change = self._enter(identity, ask, trees)
        self._finish([change] if change else [], {identity: old})
        if old is None:
            self._transitions.record("lease_taken", id=identity, holder=lease.holder, name=lease.name)
        return lease

    def release(self, identity: LeaseId) -> Lease | None:
        """End it, durably; None if there is none. Raises OSError, then it still holds."""
        with self._holds.lock:
            old = self._held.get(identity)
            change = self._leave(identity)
        if old is None or change is None:
            return None
        self._finish([change], {identity: old})
        self._transitions.record("lease_released", id=identity, holder=old.lease.holder)
        return old.lease

    def renew(self, holder: HolderName, asked: Mapping[LeaseId, LeaseAsk], resolve: Resolve) -> Renewed:
        """Make the leases of `holder` exactly these, with one sync.

        Those it has and did not name are released, unless they are younger than `LIST_AGE`. What is not here is told as
        missing, and by name held from when it comes. Raises Conflict, then nothing changed; OSError.
        """
        with self._holds.lock:
            found = {identity: resolve(ask) for identity, ask in asked.items()}
            for identity, ask in asked.items():
                self._refuse(identity, ask, found[identity] or ())
            before = {identity: self._held.get(identity) for identity in asked}
            entered = [self._enter(identity, ask, found[identity] or ()) for identity, ask in asked.items()]
            forgotten = self._forgotten(holder, asked)
            before |= {identity: self._held[identity] for identity in forgotten}
            changes = [change for _, change in entered if change] + [self._leave(each) for each in forgotten]
        self._finish([change for change in changes if change], before)
        self._heard[holder] = self._clock.monotonic()
        taken = tuple(sorted(identity for identity in asked if before[identity] is None))
        self._tell(holder, taken, forgotten)
        missing = tuple(sorted(identity for identity, trees in found.items() if not trees))
        return Renewed(taken=taken, released=forgotten, missing=missing)

    def follow(self, name: ModelName, tree: TreeId) -> None:
        """The name is about to point to `tree`: leases of the name hold it as well, durably, from now on. OSError."""
        with self._holds.lock:
            behind = {
                identity: held
                for identity, held in self._held.items()
                if held.lease.name == name and tree not in held.lease.trees
            }
            changes = [
                self._write(_Held(replace(held.lease, trees=(*held.lease.trees, tree)), held.ends, held.since))
                for held in behind.values()
            ]
        self._finish(changes, behind)

    def expire(self) -> tuple[Lease, ...]:
        """End those whose TTL is over; they. `of` counts them no longer from that moment on. Raises OSError."""
        with self._holds.lock:
            over = {identity: held for identity, held in self._held.items() if not self._lives(held)}
            changes = [change for identity in over if (change := self._leave(identity))]
        self._disk.wait(changes)
        for held in over.values():
            self._transitions.record("lease_expired", id=held.lease.id, holder=held.lease.holder)
        return tuple(held.lease for held in over.values())

    # ------------------------------------------------------------------ look

    def of(self, tree: TreeId) -> tuple[Lease, ...]:
        """The leases that hold a tree."""
        with self._holds.lock:
            found = [self._held[identity] for identity in sorted(self._by_tree.get(tree, ()))]
            return tuple(held.lease for held in found if self._lives(held))

    def all(self) -> tuple[Lease, ...]:
        """Every lease, by id."""
        with self._holds.lock:
            return tuple(held.lease for _, held in sorted(self._held.items()) if self._lives(held))

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
                expected=holder in self._settings.holders,
                silent_for=now - self._heard[holder] if holder in self._heard else None,
                stale=holder in stale,
            )
            for holder, count in sorted(counts.items())
        )

    def stale(self) -> tuple[HolderName, ...]:
        """Holders of the settings that have not sent a complete list for `stale_after`, or since the start."""
        since = self._clock.monotonic() - self._settings.stale_after
        return tuple(holder for holder in self._settings.holders if self._heard.get(holder, since - 1) < since)

    # ------------------------------------------------------------------ inside, under holds.lock

    def _enter(self, identity: LeaseId, ask: LeaseAsk, trees: Sequence[TreeId]) -> tuple[Lease, Change | None]:
        """The lease in memory, and what the disk still has to be told; None if it knows already."""
        self._refuse(identity, ask, trees)
        now, wall = self._clock.monotonic(), self._clock.wall()
        old = self._held.get(identity)
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
        held = _Held(lease, None if ask.ttl is None else now + ask.ttl, old.since if old else now)
        if old is not None and old.lease == lease:
            self._put(held)
            return lease, None
        return lease, self._write(held)

    def _refuse(self, identity: LeaseId, ask: LeaseAsk, trees: Iterable[TreeId]) -> None:
        old = self._held.get(identity)
        if old is not None and (old.lease.holder, old.lease.name) != (ask.holder, ask.name):
            raise Conflict(
                f"the lease {identity} is {old.lease.holder}'s, of {old.lease.name or 'a tree'}",
                hint="release it first, or use another id",
                details={"id": identity, "holder": old.lease.holder},
            )
        if any(tree in self._holds.condemned for tree in trees):
            raise Conflict(f"what the lease {identity} is of is just being evicted", hint="ask again in a moment")

    def _forgotten(self, holder: HolderName, asked: Mapping[LeaseId, LeaseAsk]) -> tuple[LeaseId, ...]:
        old = self._clock.monotonic() - LIST_AGE
        return tuple(
            identity
            for identity, held in sorted(self._held.items())
            if held.lease.holder == holder and identity not in asked and held.since <= old
        )

    def _write(self, held: _Held) -> Change:
        self._put(held)
        return self._disk.write(self._layout.lease(held.lease.id), codec.encode(held.lease))

    def _leave(self, identity: LeaseId) -> Change | None:
        if identity not in self._held:
            return None
        self._drop(identity)
        return self._disk.remove(self._layout.lease(identity))

    def _put(self, held: _Held) -> None:
        self._drop(held.lease.id)
        self._held[held.lease.id] = held
        for tree in held.lease.trees:
            self._by_tree.setdefault(tree, set()).add(held.lease.id)

    def _drop(self, identity: LeaseId) -> None:
        old = self._held.pop(identity, None)
        for tree in old.lease.trees if old else ():
            self._by_tree[tree].discard(identity)
            if not self._by_tree[tree]:
                del self._by_tree[tree]

    def _lives(self, held: _Held) -> bool:
        return held.ends is None or held.ends > self._clock.monotonic()

    # ------------------------------------------------------------------ outside of it

    def _finish(self, changes: Sequence[Change], before: Mapping[LeaseId, _Held | None]) -> None:
        """Wait for the disk; what it refused is in memory as it was before."""
        try:
            self._disk.wait(changes)
        except OSError:
            failed = {change.path for change in changes if change.error}
            with self._holds.lock:
                for identity, old in before.items():
                    if self._layout.lease(identity) in failed:
                        self._drop(identity)
                        if old is not None:
                            self._put(old)
            raise

    def _tell(self, holder: HolderName, taken: Iterable[LeaseId], forgotten: Iterable[LeaseId]) -> None:
        for identity in taken:
            self._transitions.record("lease_taken", id=identity, holder=holder)
        for identity in forgotten:
            self._transitions.record("lease_leaked", id=identity, holder=holder)


def read_leases(layout: Layout) -> tuple[tuple[Lease, ...], tuple[Path, ...]]:
    """Every lease on disk, and the files named like one that cannot be read. Raises OSError.

    What an unreadable one held is not known. Holders that renew their lists bring it back before anything may be
    evicted, and a mount is seen without it.
    """
    return read_named(layout.leases, Lease, lambda lease: layout.lease(lease.id))
