"""How much it costs to get a model onto disk: cached beside s5cmd, boto3 and kserve-storage.

This module is the command; `benchmarks.rounds` measures, `benchmarks.bars` judges.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks import report, results
from benchmarks.cases import Case, Sizes, cases
from benchmarks.contestants import Contestant, everyone
from benchmarks.datasets import MIB
from benchmarks.errors import BenchError
from benchmarks.rounds import Plan, check_space, measure_all
from cached.config import Bytes

Named = TypeVar("Named", Case, Contestant)

QUICK = Sizes(shard=16 * MIB, small_files=100)
# kserve-storage uses most, some 900 MiB. A quick run says nothing about speed, and touching 1 GiB takes half a second.
HEADROOM = 1024 * MIB
QUICK_HEADROOM = 64 * MIB


def main(argv: list[str]) -> None:
    """Measure, print the table, and record it where asked. Raises BenchError."""
    options = _parser().parse_args(argv)
    plan = _plan(options)
    check_space(plan)
    record = measure_all(plan)
    print(report.ingest_markdown(record))
    if options.json:
        results.save(record, options.json)
    if options.record:
        results.save(record, results.FOLDER / "ingest.json")
        report.write("ingest", report.ingest_markdown(record))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ingest", description=__doc__)
    add = parser.add_argument
    names = ", ".join(case.name for case in cases(Sizes()))
    add("--only", action="append", default=[], metavar="CASE", help=f"measure only this case (repeatable): {names}")
    who = ", ".join(contestant.name for contestant in everyone())
    add("--contestant", action="append", default=[], metavar="NAME", help=f"only this one (repeatable): {who}")
    add("--repetitions", type=int, default=3, help="how often each takes its turn (default 3)")
    add("--shard", type=Bytes, default=None, metavar="SIZE", help="one of four files, such as 256MiB (default 1GiB)")
    add("--quick", action="store_true", help="files of 16 MiB, once: checks the benchmark, not cached")
    add("--disk", type=Path, default=Path("/var/tmp"), help="folder on the disk to write to (default /var/tmp)")
    add("--tmpfs", type=Path, default=Path("/dev/shm"), help="folder in memory to serve from (default /dev/shm)")
    add("--json", type=Path, metavar="FILE", help="write every measurement here")
    add("--record", action="store_true", help="write benchmarks/results/ingest.json and the table in the docs")
    return parser


def _plan(options: argparse.Namespace) -> Plan:
    sizes = QUICK if options.quick else Sizes()
    sizes = Sizes(shard=options.shard or sizes.shard, small_files=sizes.small_files)
    return Plan(
        cases=_chosen(cases(sizes), options.only, what="case"),
        contestants=_chosen(everyone(), options.contestant, what="contestant"),
        sizes=sizes,
        repetitions=1 if options.quick else options.repetitions,
        headroom=QUICK_HEADROOM if options.quick else HEADROOM,
        disk=options.disk,
        tmpfs=options.tmpfs,
    )


def _chosen(everything: Sequence[Named], names: list[str], *, what: str) -> tuple[Named, ...]:
    known = {item.name: item for item in everything}
    for name in names:
        if name not in known:
            raise BenchError(f"there is no {what} {name!r}; there are {', '.join(known)}")
    return tuple(known[name] for name in known if not names or name in names)
