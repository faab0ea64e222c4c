"""What goes, in which order, and what stays and why. Pure.

Two different questions. Room for a download: if what may go is not enough, nothing goes (`for_room`). Pressure
from outside, when others fill the disk: everything that may go does, in order, even if that is not enough, and
then what is wanted but not read or pinned, from the lowest priority (`for_pressure`): kubelet would evict innocents
otherwise. `for_gc` is a person's: all that nobody needs, or as much as was asked for.

Order: quarantine, partials, orphaned blobs, trees that nobody wants by their last use. Never by access times: a
backup that reads everything would turn the order over.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from cached.policy.snapshot import Keep, Limits, Snapshot, TreeFacts
from cached.types import Digest, TreeId

HIGH, LOW = 95, 90
"""Per cent of `max_bytes`: above HIGH room is made down to LOW, in the background. Admission evicts anyway when it
must; the headroom lets most downloads begin without waiting for that, and 5 % between the two lets each round do
enough to be worth its syncs."""
IDLE = 86400.0
"""Seconds after which a partial download, or a blob that one left behind, is stale: whoever wanted it has had a day
to ask again."""
QUARANTINED = 7 * 86400.0
"""Seconds that damaged files are kept for a person to look at: a week has one working day at least."""


class Cause(enum.StrEnum):
    """Why things go; also the label of the metric and the reason in an evicted ref."""

    SPACE = "space"
    PRESSURE = "pressure"
    GC = "gc"
    STALE = "stale"
    """It was a partial, an orphan or in quarantine for too long."""


@dataclass(frozen=True, slots=True)
class Victim:
    """Something to remove. `kind`: tree, blob, partial or quarantine; `id` as in the snapshot; `frees` counts what
    goes before it; `why` for people."""

    kind: str
    id: str
    frees: int
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """`goal`: bytes to free, None for everything that may go. `kept`: the trees that stay, with their reasons; one
    without a reason was not needed for the goal."""

    cause: Cause
    goal: int | None
    victims: tuple[Victim, ...]
    kept: tuple[TreeFacts, ...]

    @property
    def frees(self) -> int:
        """Bytes."""
        return sum(victim.frees for victim in self.victims)

    @property
    def enough(self) -> bool:
        """Whether it reaches its goal."""
        return self.goal is None or self.frees >= self.goal


def for_room(snapshot: Snapshot, goal: int) -> Plan:
    """What goes so that `goal` bytes more may be allocated; just enough of it. Carry it out only if it is `enough`."""
    draft = _Draft(snapshot)
    draft.take(chain(_loose(snapshot), draft.unwanted()), goal)
    return draft.plan(Cause.SPACE, goal)


def for_pressure(snapshot: Snapshot, limits: Limits) -> Plan:
    """What goes while the disk has less than `min_free` free or the budget is nearly used. Goal 0: nothing to do.

    The rule is BuildKit's: keep = max(reserved, min(max_used, total - (min_free - free))), with our `keep` as its
    reserved. What was promised to downloads is as good as written. What is wanted goes for others' sake alone: for the
    headroom of our own budget it would only be fetched again.
    """
    outside = min(limits.min_free - (snapshot.disk_free - snapshot.reserved), snapshot.used - limits.keep)
    inside = min(_above_high(snapshot, limits), snapshot.used - limits.keep)
    goal = max(outside, inside, 0)
    draft = _Draft(snapshot)
    draft.take(chain(_loose(snapshot), draft.unwanted()), goal)
    draft.take(draft.wanted(), outside)
    return draft.plan(Cause.PRESSURE, goal)


def _above_high(snapshot: Snapshot, limits: Limits) -> int:
    if limits.max_bytes is None or snapshot.used * 100 <= limits.max_bytes * HIGH:
        return 0
    return snapshot.used - limits.max_bytes * LOW // 100


def for_gc(snapshot: Snapshot, goal: int | None) -> Plan:
    """What a person may have removed."""
    draft = _Draft(snapshot)
    draft.take(chain(_loose(snapshot), draft.unwanted()), goal)
    return draft.plan(Cause.GC, goal)


def stale(snapshot: Snapshot) -> Plan:
    """What goes by age alone: partials and orphaned blobs idle for 24 h, quarantine after 7 days, and trees without a
    name past the grace."""
    draft = _Draft(snapshot)
    idle, damaged = snapshot.now - IDLE, snapshot.now - QUARANTINED
    old: set[str] = {partial.key for partial in snapshot.partials if partial.idle_since <= idle}
    old.update(stray.id for stray in snapshot.orphans if stray.since <= idle)
    old.update(stray.id for stray in snapshot.quarantine if stray.since <= damaged)
    draft.take((victim for victim in _loose(snapshot) if victim.id in old), None)
    draft.take(draft.unwanted(orphans=True), None)
    return draft.plan(Cause.STALE, None)


def _loose(snapshot: Snapshot) -> Iterator[Victim]:
    for stray in sorted(snapshot.quarantine, key=lambda stray: (stray.since, stray.id)):
        yield Victim("quarantine", stray.id, stray.size, "damaged")
    for partial in sorted(snapshot.partials, key=lambda partial: (partial.idle_since, partial.key)):
        yield Victim("partial", partial.key, partial.size, "nobody works on it")
    for stray in sorted(snapshot.orphans, key=lambda stray: (stray.since, stray.id)):
        yield Victim("blob", stray.id, stray.size, "no model has it")


class _Draft:
    """A plan in the making: link counts as they will be once the victims so far are gone."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._victims: list[Victim] = []
        self._trees: dict[TreeId, TreeFacts] = {}
        self._unlinked: dict[Digest, int] = {}
        self._frees = 0

    def take(self, candidates: Iterable[Victim], goal: int | None) -> None:
        """Candidates one by one until `goal` bytes are free; all of them without one."""
        if goal is not None and self._frees >= goal:
            return
        for victim in candidates:
            self._victims.append(victim)
            self._frees += victim.frees
            if goal is not None and self._frees >= goal:
                return

    def unwanted(self, *, orphans: bool = False) -> Iterator[Victim]:
        """Trees that nothing keeps, the one that was used longest ago first; with `orphans` those without a name."""
        free = (tree for tree in self._snapshot.trees if not tree.kept and not (orphans and tree.names))
        for tree in sorted(free, key=lambda tree: (tree.used, tree.tree)):
            yield self._victim(tree, "nobody uses it" if tree.names else "it has no name")

    def wanted(self) -> Iterator[Victim]:
        """Trees that wants alone keep, the lowest priority first."""
        free = (tree for tree in self._snapshot.trees if {kept.why for kept in tree.kept} == {Keep.WANTED})
        for tree in sorted(free, key=lambda tree: (tree.priority, tree.used, tree.tree)):
            yield self._victim(tree, f"others fill the disk; {tree.kept[0].text}, priority {tree.priority}")

    def _victim(self, tree: TreeFacts, why: str) -> Victim:
        frees = 0
        sizes, links, unlinked = self._snapshot.sizes, self._snapshot.links, self._unlinked
        for blob in tree.blobs:
            unlinked[blob] = gone = unlinked.get(blob, 0) + 1
            if gone == links.get(blob, 0):
                frees += sizes.get(blob, 0)
        self._trees[tree.tree] = tree
        return Victim("tree", tree.tree, frees, why)

    def plan(self, cause: Cause, goal: int | None) -> Plan:
        """What was taken, without the trees that would go for nothing: all they have is in trees that stay."""
        victims = [victim for victim in self._victims if goal is None or self._counts(victim)]
        gone = {victim.id for victim in victims}
        stays = tuple(tree for tree in self._snapshot.trees if tree.tree not in gone)
        return Plan(cause, goal, tuple(victims), stays)

    def _counts(self, victim: Victim) -> bool:
        if victim.kind != "tree" or victim.frees:
            return True
        links = self._snapshot.links
        return any(self._unlinked[blob] == links.get(blob, 0) for blob in self._trees[TreeId(victim.id)].blobs)
