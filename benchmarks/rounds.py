"""Carries a plan out: writes the files, starts the server, lets the contestants take turns, checks what they did.

Same files, same server, same run. Every run's files are looked at: names and sizes each time, every byte in
the first repetition. A contestant that fails ends the whole run: a table with holes would be read as a result.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import link, machine, measure, objectstore, server
from benchmarks.cases import LINK_RATE, Case, Sizes, space_needed
from benchmarks.contestants import Contestant, Job, Landed
from benchmarks.datasets import BUCKET, GIB, MIB, build, same_bytes
from benchmarks.errors import BenchError
from benchmarks.listing import pages
from benchmarks.results import Ingest, Run
from benchmarks.server import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is going to be run, and where."""

    cases: tuple[Case, ...]
    contestants: tuple[Contestant, ...]
    sizes: Sizes
    repetitions: int
    headroom: int
    """Bytes of memory that a client may use beside the page cache of its files."""
    disk: Path
    tmpfs: Path


def check_space(plan: Plan) -> None:
    """Raises BenchError with the numbers unless the files fit into tmpfs, memory and disk."""
    needed = space_needed(plan.cases)
    machine.require_space(plan.tmpfs, needed + needed // 8, what="serving")
    machine.require_space(plan.disk, 2 * needed, what="downloading")
    available = machine.memory("MemAvailable")
    if available < 2 * needed + plan.headroom:
        raise BenchError(
            f"serving {needed / GIB:.1f} GiB from memory and measuring beside it needs "
            f"{(2 * needed + plan.headroom) / GIB:.1f} GiB of memory, {available / GIB:.1f} GiB are available; "
            "choose smaller files (--shard)"
        )


def measure_all(plan: Plan) -> Ingest:
    """Every case of the plan, in order. Raises BenchError when anything fails."""
    runs: list[Run] = []
    left_out: dict[str, str] = {}
    for _, group in itertools.groupby(plan.cases, key=lambda case: case.dataset):
        with tempfile.TemporaryDirectory(dir=plan.tmpfs, prefix="cached-bench-") as folder:
            for case in _written(tuple(group), Path(folder)):
                reason = link.missing() if case.limited else None
                if reason:
                    left_out[case.name] = reason
                else:
                    runs.extend(_case(plan, case, Path(folder)))
    return Ingest(
        machine=machine.fingerprint(disk=plan.disk, source=plan.tmpfs),
        versions={contestant.name: contestant.version() for contestant in plan.contestants},
        nginx=server.version(),
        shard=plan.sizes.shard,
        repetitions=plan.repetitions,
        link_rate=LINK_RATE,
        sha256_cpu_s_per_gib=sha256_cost(),
        runs=tuple(runs),
        left_out=left_out,
    )


def _written(group: tuple[Case, ...], folder: Path) -> tuple[Case, ...]:
    build(group[0].dataset, folder / "www")
    for case in group:
        if case.held:
            build(case.held, folder / "www")
    return group


def _case(plan: Plan, case: Case, folder: Path) -> Iterator[Run]:
    with _reach(case, folder) as endpoint:
        for repetition in range(plan.repetitions):
            for contestant in plan.contestants:
                if case.takes_part(contestant.name):
                    yield _turn(plan, case, contestant, endpoint, repetition)


@contextlib.contextmanager
def _reach(case: Case, folder: Path) -> Iterator[Endpoint]:
    with contextlib.ExitStack() as stack:
        if case.held:
            yield stack.enter_context(objectstore.serve(folder, datasets=(case.held, case.dataset)))
            return
        answers = list(pages(case.dataset))
        inside = stack.enter_context(link.limited(LINK_RATE)) if case.limited else ()
        yield stack.enter_context(server.serve(folder, pages=answers, tls=case.tls, inside=inside))


def _turn(plan: Plan, case: Case, contestant: Contestant, endpoint: Endpoint, repetition: int) -> Run:
    with tempfile.TemporaryDirectory(dir=plan.disk, prefix="cached-bench-") as scratch:
        job = Job(dataset=case.dataset, held=case.held, endpoint=endpoint, scratch=Path(scratch))
        measure.sync(job.scratch)
        with contestant.prepare(job) as attempt:
            usage = measure.run(attempt, touch=case.dataset.size + plan.headroom)
            synced = measure.sync(job.scratch)
            landed = contestant.landed(job, usage.stdout)
            source = endpoint.folder / "www" / BUCKET / case.dataset.name
            check(case, landed, source=source, contents=repetition == 0)
        run = Run(
            case=case.name,
            contestant=contestant.name,
            repetition=repetition,
            size=case.dataset.size,
            fetched=landed.fetched,
            wall_s=usage.wall_s,
            sync_s=synced,
            durable_s=usage.wall_s + (0.0 if contestant.durable else synced),
            cpu_s=usage.cpu_s,
            pss_peak=usage.pss_peak,
            startup_s=attempt.startup_s,
        )
    _tell(run)
    return run


def check(case: Case, landed: Landed, *, source: Path, contents: bool) -> None:
    """Raises BenchError unless exactly the set's files are there; with `contents`, byte for byte."""
    expected = {file.name: file.size for file in case.dataset.files}
    found = {path.name: path.stat().st_size for path in landed.folder.iterdir()}
    if found != expected:
        raise BenchError(
            f"{case.name}: expected {len(expected)} files in {landed.folder}, found {len(found)} or other sizes"
        )
    for name in expected if contents else ():
        if not same_bytes(landed.folder / name, source / name):
            raise BenchError(f"{case.name}: {landed.folder / name} differs from what was served")


def sha256_cost() -> float:
    """CPU seconds a GiB of sha256 as cached feeds it, 1 MiB at a time; the least of three."""
    block = bytes(MIB)
    return min(_hash_once(block) for _ in range(3)) * GIB


def _hash_once(block: bytes, *, rounds: int = 128) -> float:
    digest = hashlib.sha256()
    start = time.process_time()
    for _ in range(rounds):
        digest.update(block)
    return (time.process_time() - start) / (rounds * len(block))


def _tell(run: Run) -> None:
    print(
        f"{run.case:<12} {run.repetition} {run.contestant:<14} cpu {run.cpu_s:7.2f} s  wall {run.wall_s:7.2f} s  "
        f"durable {run.durable_s:7.2f} s  pss {run.pss_peak / MIB:6.0f} MiB",
        file=sys.stderr,
    )
