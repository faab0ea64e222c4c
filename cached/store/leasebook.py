"""Leases in memory: by id, by tree, and for each what the disk has of it. No I/O; used under `holds.lock`.

A lease counts from the moment it is entered. Until the disk has answered, what was there before is remembered:
of several changes of one lease, in any mix of success and failure, what stays is the newest that the disk took.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cached.store.records import Lease
from cached.store.together import Change
from cached.types import LeaseId, TreeId


@dataclass(frozen=True, slots=True)
class Held:
    """A lease in memory. Monotonic seconds: when it ends (None: never by itself), when it was taken last."""

    lease: Lease
    ends: float | None
    since: float
    sure: bool = True
    """False after a change that failed: the disk may have this, the other, or neither."""


@dataclass(slots=True)
class _Line:
    """What the disk has been asked for and not answered, oldest first; `before` is what it has for certain."""

    before: Held | None
    steps: list[tuple[Change, Held | None]]


class LeaseBook:
    """Not thread-safe."""

    def __init__(self, held: Iterable[Held]) -> None:
        self._held: dict[LeaseId, Held] = {}
        self._by_tree: dict[TreeId, set[LeaseId]] = {}
        self._lines: dict[LeaseId, _Line] = {}
        for each in held:
            self._put(each)

    def get(self, identity: LeaseId) -> Held | None:
        """One, as it is now."""
        return self._held.get(identity)

    def all(self) -> tuple[Held, ...]:
        """Every one, by id."""
        return tuple(held for _, held in sorted(self._held.items()))

    def of(self, tree: TreeId) -> tuple[Held, ...]:
        """Those that hold a tree, by id."""
        return tuple(self._held[identity] for identity in sorted(self._by_tree.get(tree, ())))

    def is_durable(self, identity: LeaseId) -> bool:
        """Whether the disk has what is here."""
        held = self._held.get(identity)
        return held is not None and held.sure and identity not in self._lines

    def enter(self, identity: LeaseId, held: Held | None, change: Change) -> None:
        """It is `held` from now on (None: no more), which `change` tells the disk."""
        line = self._lines.setdefault(identity, _Line(self._held.get(identity), []))
        line.steps.append((change, held))
        self._set(identity, held)

    def refresh(self, held: Held) -> None:
        """What only memory has of it is `held`'s from now on; the disk need not know."""
        self._set(held.lease.id, held)

    def settle(self, identity: LeaseId) -> bool:
        """Some changes of it are done. False if that leaves nothing of it here, and perhaps something on disk."""
        line = self._lines.get(identity)
        if line is None:
            return True  # another thread that waited for the same group was here first
        failed = False
        while line.steps and line.steps[0][0].done:
            change, held = line.steps.pop(0)
            failed = change.error is not None
            if not failed:
                line.before = held
        if line.steps:
            return True
        del self._lines[identity]
        if failed:
            self._set(identity, replace(line.before, sure=False) if line.before else None)
        return not failed or line.before is not None

    def _set(self, identity: LeaseId, held: Held | None) -> None:
        self._drop(identity)
        if held is not None:
            self._put(held)

    def _put(self, held: Held) -> None:
        self._held[held.lease.id] = held
        for tree in held.lease.trees:
            self._by_tree.setdefault(tree, set()).add(held.lease.id)

    def _drop(self, identity: LeaseId) -> None:
        old = self._held.pop(identity, None)
        for tree in old.lease.trees if old else ():
            self._by_tree[tree].discard(identity)
            if not self._by_tree[tree]:
                del self._by_tree[tree]
