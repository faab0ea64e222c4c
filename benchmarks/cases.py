"""What is measured: each case is a set of files, a way to reach them, and who takes part. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.datasets import GIB, DataSet, next_version, shards

KIB = 1 << 10
SMALL = 4 * KIB
LINK_RATE = 200_000_000

# boto3's plain loop over 2,000 small files takes minutes and says nothing that its tuned form does not.
MANY_FILES = ("cached", "s5cmd", "boto3-tuned", "kserve-storage")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How big the sets are. `shard`: bytes of one of the four files of `p4`."""

    shard: int = GIB
    small_files: int = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One line of measurements. `held`: a set that cached already has when the run begins."""

    name: str
    dataset: DataSet
    tls: bool = False
    limited: bool = False
    only: tuple[str, ...] = ()
    """Contestants that take part; empty: all."""
    held: DataSet | None = None

    def takes_part(self, contestant: str) -> bool:
        return not self.only or contestant in self.only


def cases(sizes: Sizes) -> tuple[Case, ...]:
    """All of them; those of one set stand together, so that it is written once."""
    four = shards("p4", count=4, size=sizes.shard)
    one = shards("p1", count=1, size=4 * sizes.shard)
    eighth = shards("p4-eighth", count=4, size=sizes.shard // 8)
    small = shards("small", count=sizes.small_files, size=SMALL)
    old = shards("v1", count=10, size=sizes.shard // 16)
    new = next_version(old, name="v2", changed=1)
    return (
        Case(name="p4-http", dataset=four),
        Case(name="p4-https", dataset=four, tls=True),
        Case(name="p4-link", dataset=four, limited=True, only=("cached", "s5cmd")),
        Case(name="p1-http", dataset=one),
        Case(name="eighth-http", dataset=eighth, only=("cached",)),
        Case(name="small-http", dataset=small, only=MANY_FILES),
        Case(name="shared-http", dataset=new, held=old, only=("cached",)),
    )


def space_needed(chosen: tuple[Case, ...]) -> int:
    """Bytes of the largest case: what tmpfs must hold, and disk at least as much again."""
    return max(case.dataset.size + (case.held.size if case.held else 0) for case in chosen)
