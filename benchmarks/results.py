"""What a run leaves behind: every single measurement, as JSON. Aggregates are derived from it, never stored."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from benchmarks.datasets import GIB
from benchmarks.errors import BenchError
from benchmarks.machine import Machine
from cached import codec

T = TypeVar("T")

FOLDER = Path(__file__).parent / "results"


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One contestant once over one case. Times in seconds, sizes in bytes."""

    case: str
    contestant: str
    repetition: int
    size: int
    fetched: int
    wall_s: float
    sync_s: float
    """What a sync of the file system took afterwards."""
    durable_s: float
    """Wall time until the files would survive a power cut: with the sync, unless the contestant does its own."""
    cpu_s: float
    pss_peak: int
    startup_s: float | None = None
    """Start of the daemon, before the run and not part of it."""


class Ingest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The record of `python -m benchmarks ingest`."""

    machine: Machine
    versions: dict[str, str]
    """By contestant."""
    nginx: str
    shard: int
    """Bytes of one file of the set `p4`; the other sizes follow from it."""
    repetitions: int
    link_rate: int
    """Bytes a second of the slow link."""
    sha256_cpu_s_per_gib: float
    runs: tuple[Run, ...]
    left_out: dict[str, str] = {}
    """Case to the reason why it was not measured."""


class Latency(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Answer times of one load, each in seconds."""

    callers: int
    rate: float | None
    """Requests a second in all; None: each caller asks again at once."""
    seconds: tuple[float, ...]


class WarmHit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The record of `python -m benchmarks warmhit`."""

    machine: Machine
    version: str
    files: int
    """Files of the model that is looked up."""
    loads: tuple[Latency, ...]


def save(record: Ingest | WarmHit, path: Path) -> None:
    """Write `record` as JSON that people can read and compare."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(codec.pretty(record) + "\n")


def load_ingest(path: Path) -> Ingest:
    """The record in `path`. Raises BenchError when it is no such record."""
    return _load(path, Ingest)


def load_warmhit(path: Path) -> WarmHit:
    """The record in `path`. Raises BenchError when it is no such record."""
    return _load(path, WarmHit)


def _load(path: Path, kind: type[T]) -> T:
    try:
        return codec.decode(path.read_bytes(), kind)
    except (OSError, msgspec.MsgspecError) as error:
        raise BenchError(f"{path}: {error}") from error


def pick(runs: Iterable[Run], *, case: str, contestant: str) -> tuple[Run, ...]:
    """The repetitions of one contestant over one case."""
    return tuple(run for run in runs if run.case == case and run.contestant == contestant)


def cpu_per_gib(runs: Iterable[Run]) -> float:
    """CPU seconds a GiB; the least of the repetitions, because noise only adds."""
    return min(run.cpu_s / run.size for run in runs) * GIB


def durable(runs: Iterable[Run]) -> float:
    """Seconds until durable; the median."""
    return statistics.median(run.durable_s for run in runs)


def peak(runs: Iterable[Run]) -> float:
    """Bytes of memory at most, in any repetition."""
    return float(max(run.pss_peak for run in runs))


def percentile(values: Iterable[float], percent: float) -> float:
    """The smallest value that at least `percent` of them do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(1, math.ceil(len(ordered) * percent / 100)) - 1]
