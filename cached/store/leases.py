"""Leases: who reads what. `leases/<id>.json` is the truth, all of them are in memory after the start.

A lease protects from the moment it is in memory, and is answered for once it is durable; many at once share one
sync of the folder. A lease by name holds every tree that the name has pointed to since it was taken: they are
written into it (`follow`) before the name moves, so that neither clocks nor a removed ref matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cached.api.types import HolderView, LeaseAsk, Renewed
from cached.clock import Clock
from cached.config import Leases as Settings
from cached.layout import Layout
from cached.store.holds import Holds
from cached.store.records import Lease
from cached.types import HolderName, LeaseId, ModelName, TreeId


class Leases:
    """Thread-safe: looked at and changed in memory under `holds.lock`; the disk is written outside of it."""

    def __init__(
        self, layout: Layout, holds: Holds, *, leases: Mapping[LeaseId, Lease], settings: Settings, clock: Clock
    ) -> None:
        raise NotImplementedError

    def take(self, identity: LeaseId, ask: LeaseAsk, trees: Sequence[TreeId]) -> Lease:
        """Protect `trees`, now and durably. Taken again by its holder it is renewed: it keeps what it holds, gains
        `trees`, and its TTL begins anew. Raises Conflict when another holder has the id; OSError, then it is not taken.
        """
        raise NotImplementedError

    def release(self, identity: LeaseId) -> Lease | None:
        """End it, durably; None if there is none. Raises OSError, then it still holds."""
        raise NotImplementedError

    def renew(self, holder: HolderName, asked: Mapping[LeaseId, tuple[LeaseAsk, Sequence[TreeId]]]) -> Renewed:
        """Make the leases of `holder` exactly these. Those it has and did not name are released, unless they were taken
        in the last 60 s: the list may be older than they are. Raises Conflict, OSError."""
        raise NotImplementedError

    def follow(self, name: ModelName, tree: TreeId) -> None:
        """The name is about to point to `tree`: leases of the name hold it as well, durably, from now on. OSError."""
        raise NotImplementedError

    def expire(self) -> tuple[Lease, ...]:
        """End those whose TTL is over; they. Also `of` no longer counts them from that moment on."""
        raise NotImplementedError

    def of(self, tree: TreeId) -> tuple[Lease, ...]:
        """The leases that hold a tree."""
        raise NotImplementedError

    def all(self) -> tuple[Lease, ...]:
        """Every lease, by id."""
        raise NotImplementedError

    def holders(self) -> tuple[HolderView, ...]:
        """Who holds leases, and the holders that the settings name."""
        raise NotImplementedError

    def stale(self) -> tuple[HolderName, ...]:
        """Holders of the settings that have not sent a complete list for `stale_after`, or since the start."""
        raise NotImplementedError


def read_leases(layout: Layout) -> tuple[dict[LeaseId, Lease], tuple[str, ...]]:
    """Every lease on disk, and a warning for each file that cannot be read: it may have held anything. OSError."""
    raise NotImplementedError
