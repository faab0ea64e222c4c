"""Whether a download fits, and if not, what says so. Pure.

A promise counts from the moment it is given: two downloads that fit alone but not together are never both admitted.
"""

from __future__ import annotations

from cached.errors import InsufficientSpace
from cached.policy.evict import Plan
from cached.policy.snapshot import Limits, Snapshot


def missing(needed: int, limits: Limits, *, used: int, reserved: int, disk_free: int) -> int:
    """Bytes to free before `needed` more may be promised; 0 if they fit now."""
    raise NotImplementedError


def refusal(needed: int, plan: Plan, snapshot: Snapshot, limits: Limits) -> InsufficientSpace:
    """The error for a download that `plan` cannot make room for: needed, free, evictable, and who holds the rest
    (bytes pinned, wanted, leased, recent, in flight, and the largest of them by name). Code HolderStale when only a
    silent holder keeps room from being made."""
    raise NotImplementedError
