"""What goes, in which order, and what stays and why. Pure.

Two different questions. Room for a download: if what may go is not enough, nothing goes (`for_room`). Pressure
from outside, when others fill the disk: everything that may go does, in order, even if that is not enough, and
then what is wanted but not read or pinned, from the lowest priority (`for_pressure`): kubelet would evict innocents
otherwise. `for_gc` is a person's: all that nobody needs, or as much as was asked for.

Order: quarantine, partials, orphaned blobs, trees that nobody wants by their last use.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from cached.policy.snapshot import Limits, Snapshot, TreeFacts


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
    """`goal`: bytes to free, None for everything that may go. `kept`: the trees that stay, with their reasons."""

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
    raise NotImplementedError


def for_pressure(snapshot: Snapshot, limits: Limits) -> Plan:
    """What goes while the disk has less than `min_free` free or the budget is nearly used. Goal 0: nothing to do."""
    raise NotImplementedError


def for_gc(snapshot: Snapshot, goal: int | None) -> Plan:
    """What a person may have removed."""
    raise NotImplementedError


def stale(snapshot: Snapshot) -> Plan:
    """What goes by age alone: partials idle for 24 h, orphaned blobs past the grace, quarantine after 7 days."""
    raise NotImplementedError
