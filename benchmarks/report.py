"""Turns records into Markdown and puts it between the markers of docs/benchmarks.md. Never measures."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.bars import Row, ingest_rows, warmhit_rows
from benchmarks.datasets import GIB, MIB
from benchmarks.errors import BenchError
from benchmarks.machine import Machine
from benchmarks.results import Ingest, Run, WarmHit, cpu_per_gib, durable, peak, percentile, pick

DOCS = Path(__file__).parent.parent / "docs" / "benchmarks.md"
# Below this the start of a program outweighs its bytes, and CPU seconds a GiB say nothing.
WORTH_A_RATE = 64 * MIB


def ingest_markdown(record: Ingest) -> str:
    """The bars, then what each contestant took, then what it was measured on."""
    shape = f"Four files of {record.shard / GIB:g} GiB, {record.repetitions} repetitions."
    return "\n\n".join([_bars(ingest_rows(record)), _contestants(record), shape + " " + _where(record)])


def warmhit_markdown(record: WarmHit) -> str:
    """The bars, then the spread of each load."""
    head = ("callers", "requests", "p50 ms", "p90 ms", "p99 ms", "max ms")
    lines = [
        (str(load.callers), str(len(load.seconds)), *(_ms(load.seconds, p) for p in (50, 90, 99, 100)))
        for load in record.loads
    ]
    machine = f"A model of {record.files} files. {_machine(record.machine)} cached {record.version}."
    return "\n\n".join([_bars(warmhit_rows(record)), _table(head, lines), machine])


def splice(text: str, *, name: str, content: str) -> str:
    """`text` with what lies between the markers of `name` replaced. Raises BenchError without markers."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise BenchError(f"the document lacks the markers `{begin}` and `{end}`")
    return f"{before}{begin}\n\n{content}\n\n{end}{after}"


def write(name: str, content: str, *, path: Path = DOCS) -> None:
    """Put `content` into the document. Raises BenchError without markers."""
    path.write_text(splice(path.read_text(), name=name, content=content))


def _bars(rows: Iterable[Row]) -> str:
    head = ("question", "bar", "measured", "")
    return _table(head, [(row.question, row.bar, row.measured, row.verdict) for row in rows])


def _contestants(record: Ingest) -> str:
    head = ("case", "contestant", "CPU s", "CPU-s/GiB", "wall s", "durable s", "peak PSS MiB", "daemon start s")
    cases = dict.fromkeys(run.case for run in record.runs)
    grouped = [pick(record.runs, case=case, contestant=name) for case in cases for name in record.versions]
    return _table(head, [_figures(runs) for runs in grouped if runs])


def _figures(runs: Sequence[Run]) -> tuple[str, ...]:
    starts = [run.startup_s for run in runs if run.startup_s is not None]
    return (
        runs[0].case,
        runs[0].contestant,
        f"{min(run.cpu_s for run in runs):.2f}",
        f"{cpu_per_gib(runs):.2f}" if runs[0].size >= WORTH_A_RATE else "",
        f"{statistics.median(run.wall_s for run in runs):.2f}",
        f"{durable(runs):.2f}",
        f"{peak(runs) / MIB:.0f}",
        f"{statistics.median(starts):.2f}" if starts else "",
    )


def _where(record: Ingest) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    hashing = f"sha256 costs {record.sha256_cpu_s_per_gib:.2f} CPU-s/GiB here."
    return f"{_machine(record.machine)} {versions}; nginx {record.nginx}. {hashing}"


def _machine(machine: Machine) -> str:
    return (
        f"{machine.date}: {machine.cpu}, {machine.cores} cores, {machine.memory / GIB:.0f} GiB, "
        f"Linux {machine.kernel}, Python {machine.python}, to {machine.disk}, from {machine.source}."
    )


def _ms(seconds: Sequence[float], percent: float) -> str:
    return f"{percentile(seconds, percent) * 1000:.1f}"


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
