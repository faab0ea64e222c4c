"""The figures that cached is to reach, and whether a record reaches them. Pure.

Each bar is a ratio within one run on one machine: absolute times differ threefold between machines and hours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.datasets import MIB
from benchmarks.results import Ingest, Run, WarmHit, cpu_per_gib, durable, peak, percentile, pick

NOT_MEASURED = "not measured"
Metric = Callable[[Sequence[Run]], float]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    question: str
    bar: str
    measured: str
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A bar against a peer. `faster`: peer / cached must be at least `limit`; otherwise cached / peer at most."""

    question: str
    case: str
    metric: Metric
    peer: str
    limit: float
    faster: bool = False


CPU = "CPU seconds to disk, everything verified, "
WALL = "wall until durable, "
RATIOS = (
    Ratio(question=CPU + "HTTP", case="p4-http", metric=cpu_per_gib, peer="s5cmd", limit=1.1),
    Ratio(question=CPU + "HTTP", case="p4-http", metric=cpu_per_gib, peer="boto3", limit=0.6),
    Ratio(question=CPU + "HTTP", case="p4-http", metric=cpu_per_gib, peer="kserve-storage", limit=0.6),
    Ratio(question=CPU + "TLS", case="p4-https", metric=cpu_per_gib, peer="s5cmd", limit=1.6),
    Ratio(question=WALL + "4 files, HTTP", case="p4-http", metric=durable, peer="s5cmd", limit=0.9, faster=True),
    Ratio(question=WALL + "4 files, HTTP", case="p4-http", metric=durable, peer="boto3", limit=2.5, faster=True),
    Ratio(
        question=WALL + "4 files, HTTP", case="p4-http", metric=durable, peer="kserve-storage", limit=1.7, faster=True
    ),
    Ratio(question=WALL + "4 files, TLS", case="p4-https", metric=durable, peer="boto3", limit=1.4, faster=True),
    Ratio(
        question=WALL + "4 files, TLS", case="p4-https", metric=durable, peer="kserve-storage", limit=1.0, faster=True
    ),
    Ratio(question=WALL + "one file, HTTP", case="p1-http", metric=durable, peer="boto3", limit=1.3, faster=True),
    Ratio(
        question=WALL + "one file, HTTP", case="p1-http", metric=durable, peer="kserve-storage", limit=1.4, faster=True
    ),
    Ratio(question="peak memory", case="p4-http", metric=peak, peer="boto3", limit=1.0),
    Ratio(question="peak memory", case="p4-http", metric=peak, peer="kserve-storage", limit=1 / 3),
    Ratio(question=WALL + "many small files", case="small-http", metric=durable, peer="s5cmd", limit=0.9, faster=True),
)

WITHOUT_SHA256 = 0.7
LINK_SHARE = 0.97
# Peak memory is sampled; two runs of one download differ by a few per cent.
FLAT = 1.1
P50_S = 0.005
P99_S = 0.020


def at_most(value: float, limit: float) -> str:
    """`met`, or by how much of the limit it was missed."""
    return "met" if value <= limit else f"missed by {(value / limit - 1) * 100:.0f} %"


def at_least(value: float, limit: float) -> str:
    """`met`, or by how much of the limit it was missed."""
    return "met" if value >= limit else f"missed by {(1 - value / limit) * 100:.0f} %"


def ingest_rows(record: Ingest) -> tuple[Row, ...]:
    """Every bar of `ingest`, in the order of the table."""
    compared = tuple(_compare(bar, record) for bar in RATIOS)
    return (*compared[:3], _without_sha256(record), *compared[3:], _link(record), _flat(record), _shared(record))


def _compare(bar: Ratio, record: Ingest) -> Row:
    sign = ">=" if bar.faster else "<="
    stated = f"{sign} {bar.limit:.2g} x {bar.peer}"
    mine = pick(record.runs, case=bar.case, contestant="cached")
    theirs = pick(record.runs, case=bar.case, contestant=bar.peer)
    if not (mine and theirs):
        return _missing(bar.question, stated, record, bar.case)
    own, other = bar.metric(mine), bar.metric(theirs)
    ratio = other / own if bar.faster else own / other
    verdict = at_least(ratio, bar.limit) if bar.faster else at_most(ratio, bar.limit)
    return Row(bar.question, stated, f"{ratio:.2f}", verdict)


def _missing(question: str, bar: str, record: Ingest, case: str) -> Row:
    return Row(question, bar, "", f"{NOT_MEASURED}: {record.left_out.get(case, 'not chosen')}")


def _without_sha256(record: Ingest) -> Row:
    """There is no way to leave sha256 out of cached, so its cost on this machine is taken off."""
    question, stated = CPU + "HTTP, less the measured cost of sha256", f"<= {WITHOUT_SHA256} x s5cmd"
    mine = pick(record.runs, case="p4-http", contestant="cached")
    theirs = pick(record.runs, case="p4-http", contestant="s5cmd")
    if not (mine and theirs):
        return _missing(question, stated, record, "p4-http")
    ratio = (cpu_per_gib(mine) - record.sha256_cpu_s_per_gib) / cpu_per_gib(theirs)
    return Row(question, stated, f"{ratio:.2f}", at_most(ratio, WITHOUT_SHA256))


def _link(record: Ingest) -> Row:
    rate = record.link_rate
    question, stated = f"wall on a {rate / 1e6:.0f} MB/s link", f">= {LINK_SHARE} of the link"
    mine = pick(record.runs, case="p4-link", contestant="cached")
    if not mine:
        return _missing(question, stated, record, "p4-link")
    share = mine[0].size / durable(mine) / rate
    theirs = pick(record.runs, case="p4-link", contestant="s5cmd")
    beside = f" (s5cmd {theirs[0].size / durable(theirs) / rate:.3f})" if theirs else ""
    return Row(question, stated, f"{share:.3f}{beside}", at_least(share, LINK_SHARE))


def _flat(record: Ingest) -> Row:
    question, stated = "peak memory, files 8 times the size", f"<= {FLAT} x"
    big = pick(record.runs, case="p4-http", contestant="cached")
    little = pick(record.runs, case="eighth-http", contestant="cached")
    if not (big and little):
        return _missing(question, stated, record, "eighth-http" if big else "p4-http")
    ratio = peak(big) / peak(little)
    return Row(question, stated, f"{ratio:.2f}", at_most(ratio, FLAT))


def _shared(record: Ingest) -> Row:
    question, stated = "second version sharing 9 of 10 files", "payload fetched = the changed file"
    mine = pick(record.runs, case="shared-http", contestant="cached")
    if not mine:
        return _missing(question, stated, record, "shared-http")
    fetched, changed = max(run.fetched for run in mine), mine[0].size // 10
    return Row(question, stated, f"{fetched / MIB:.1f} of {changed / MIB:.1f} MiB", at_most(fetched, changed))


def warmhit_rows(record: WarmHit) -> tuple[Row, ...]:
    """The bars of `warmhit`."""
    return tuple(_latency(record, alone=alone) for alone in (True, False))


def _latency(record: WarmHit, *, alone: bool) -> Row:
    percent, limit = (50, P50_S) if alone else (99, P99_S)
    for load in record.loads:
        if (load.rate is None) == alone:
            value = percentile(load.seconds, percent)
            rate = "" if load.rate is None else f" at {load.rate:.0f}/s in all"
            question = f"path of a cached model, {load.callers} caller{'' if alone else 's'}{rate}"
            bar = f"p{percent} < {limit * 1000:.0f} ms"
            return Row(question, bar, f"{value * 1000:.1f} ms", at_most(value, limit))
    raise ValueError("a record of warm hits holds both loads")
