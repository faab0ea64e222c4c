"""Whether a download fits, and if not, what says so. Pure.

A promise counts from the moment it is given: two downloads that fit alone but not together are never both admitted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from cached.errors import Code, InsufficientSpace
from cached.human import size
from cached.policy.evict import Plan, for_room
from cached.policy.snapshot import Keep, Kept, Limits, Snapshot, TreeFacts
from cached.types import Digest

SHOWN = 3
"""Models that a refusal names: the largest of what holds room."""


def missing(needed: int, limits: Limits, *, used: int, reserved: int, disk_free: int) -> int:
    """Bytes to free before `needed` more may be promised; 0 if they fit now. Nothing always fits."""
    return max(0, needed - _free(limits, used=used, reserved=reserved, disk_free=disk_free)) if needed else 0


def _free(limits: Limits, *, used: int, reserved: int, disk_free: int) -> int:
    """Bytes that may be promised; negative when the limits are exceeded."""
    on_disk = disk_free - reserved - limits.min_free - limits.journal
    return on_disk if limits.max_bytes is None else min(on_disk, limits.max_bytes - used - reserved)


def refusal(needed: int, plan: Plan, snapshot: Snapshot, limits: Limits) -> InsufficientSpace:
    """The error for a download that `plan` cannot make room for: needed, free, evictable, and who holds the rest
    (bytes pinned, wanted, leased, recent, in flight, and the largest of them by name). Code HolderStale when only a
    silent holder keeps room from being made."""
    free = max(0, _free(limits, used=snapshot.used, reserved=snapshot.reserved, disk_free=snapshot.disk_free))
    held = _held(plan, snapshot)
    totals = Counter[Keep]()
    for one in held:
        totals[one.why.why] += one.size
    silent = _silent(plan, snapshot)
    text = f"{size(needed)} are needed, {size(free)} are free, and {size(plan.frees)} more could be made free"
    if snapshot.reserved:
        text += f"; {size(snapshot.reserved)} are promised to other downloads"
    if held:
        text += ". Room is held by " + "; ".join(one.text for one in held[:SHOWN])
    return InsufficientSpace(
        text,
        code=Code.HOLDER_STALE if silent else Code.INSUFFICIENT_SPACE,
        hint=f"find out why {silent} renews its leases no more" if silent else _hint(needed, held, snapshot, limits),
        details={
            "needed": needed,
            "free": free,
            "reserved": snapshot.reserved,
            "evictable": plan.frees,
            **{keep.replace(" ", "_"): totals[keep] for keep in Keep},
        },
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """What a tree keeps occupied that no stronger one does, and its strongest reason."""

    tree: TreeFacts
    why: Kept
    size: int

    @property
    def text(self) -> str:
        return f"{self.tree.title} {size(self.size)}: {self.why.text}"


def _held(plan: Plan, snapshot: Snapshot) -> list[_Held]:
    """The largest first. A blob counts once, for the tree with the strongest reason."""
    seen = set[Digest]()
    held = []
    kept = [(min(tree.kept, key=lambda kept: kept.why.rank), tree) for tree in plan.kept if tree.kept]
    for why, tree in sorted(kept, key=lambda pair: (pair[0].why.rank, pair[1].tree)):
        held.append(_Held(tree, why, sum(snapshot.sizes.get(blob, 0) for blob in tree.blobs if blob not in seen)))
        seen.update(tree.blobs)
    return sorted(held, key=lambda one: (-one.size, one.tree.tree))


def _silent(plan: Plan, snapshot: Snapshot) -> str:
    """The holder without whose silence there would be room; empty if there is none."""
    who = next((kept.who for tree in plan.kept for kept in tree.kept if kept.why == Keep.HOLDER_STALE), "")
    if not who or plan.goal is None:
        return ""
    trees = [
        replace(tree, kept=tuple(kept for kept in tree.kept if kept.why != Keep.HOLDER_STALE))
        for tree in snapshot.trees
    ]
    return who if for_room(replace(snapshot, trees=tuple(trees)), plan.goal).enough else ""


def _hint(needed: int, held: list[_Held], snapshot: Snapshot, limits: Limits) -> str:
    on_disk = _free(replace(limits, max_bytes=None), used=0, reserved=snapshot.reserved, disk_free=snapshot.disk_free)
    if limits.max_bytes is not None and limits.max_bytes - snapshot.used - snapshot.reserved < min(needed, on_disk):
        hint = f"raise budget.max_bytes ({size(limits.max_bytes)})"
    else:
        hint = f"free other files on the disk, or lower budget.min_free ({size(limits.min_free)})"
    pinned = next((one.tree.title for one in held if one.why.why == Keep.PINNED), None)
    unpin = f", or `cachectl unpin {pinned}`" if pinned else ""
    return f"{hint}{unpin}; `cachectl gc --dry-run` shows what stays and why"
