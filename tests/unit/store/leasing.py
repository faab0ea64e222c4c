"""How the tests of leases make clocks, asks and stores, and how they make the disk refuse."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from cached import failpoints
from cached.api.types import LeaseAsk
from cached.config import Leases, Seconds
from cached.store.store import Store
from cached.types import HolderName, LeaseId, LeaseKind, ModelName, TreeId
from tests.unit.store.making import open_store

CSI = HolderName("csi")
NODE = HolderName("node")
SHELL = HolderName("cachectl")
ID = LeaseId("vol-1")
OTHER = LeaseId("vol-2")
NAME = ModelName("m")


@dataclass
class TwoHands:
    """A clock whose hands a test moves together (`pass_by`) or apart."""

    walls: float = 1_700_000_000.0
    ticks: float = 1000.0

    def wall(self) -> float:
        return self.walls

    def monotonic(self) -> float:
        return self.ticks

    def pass_by(self, seconds: float) -> None:
        self.walls += seconds
        self.ticks += seconds


def of_name(name: str = NAME, *, holder: HolderName = CSI, ttl: float | None = None, since: float | None = None,
            kind: LeaseKind = LeaseKind.VOLUME) -> LeaseAsk:  # fmt: skip
    return LeaseAsk(holder=holder, kind=kind, name=ModelName(name), ttl=ttl, since=since)


def of_tree(tree: TreeId, *, holder: HolderName = CSI, ttl: float | None = None) -> LeaseAsk:
    return LeaseAsk(holder=holder, kind=LeaseKind.VOLUME, tree=tree, ttl=ttl)


def leased_store(root: Path, clock: TwoHands, *holders: HolderName) -> Store:
    return open_store(root, clock=clock, leases=Leases(holders=holders, stale_after=Seconds(90)))


def reopened(store: Store, clock: TwoHands, *holders: HolderName) -> Store:
    store.close()
    return leased_store(store.layout.root, clock, *holders)


def keeping(store: Store, tree: TreeId) -> tuple[LeaseId, ...]:
    """The leases that keep a tree, as eviction asks for them."""
    return tuple(lease.id for lease in store._parts.leases.of(tree))


def expire(store: Store) -> tuple[LeaseId, ...]:
    return tuple(lease.id for lease in store._parts.leases.expire())


def on_disk(store: Store) -> list[str]:
    return sorted(path.name for path in store.layout.leases.iterdir())


def refuse(monkeypatch: pytest.MonkeyPatch, place: str, *, nth: int = 1, action: str = "eio") -> None:
    """The disk fails the `nth` time that `place` is reached."""
    monkeypatch.setattr(failpoints, "_armed", {place: (nth, action)})
