from __future__ import annotations

import pytest

from benchmarks.bars import Row, ingest_rows, warmhit_rows
from benchmarks.datasets import GIB, MIB
from benchmarks.machine import Machine
from benchmarks.results import Ingest, Latency, Run, WarmHit, percentile
from cached.codec import convert

MACHINE = Machine(
    cpu="c", cores=2, memory=GIB, kernel="6", disk="ext4 on d", source="tmpfs on t", python="3.11", date="2026-01-01"
)


def a_run(contestant: str, *, case: str = "p4-http", **fields: float) -> Run:
    times = {"wall_s": 1.0, "sync_s": 0.0, "durable_s": 1.0, "cpu_s": 1.0}
    sizes = {"size": GIB, "fetched": GIB, "pss_peak": MIB}
    return convert({"case": case, "contestant": contestant, "repetition": 0, **times, **sizes, **fields}, Run)


def a_record(*runs: Run, left_out: dict[str, str] | None = None) -> Ingest:
    return Ingest(
        machine=MACHINE,
        versions={"cached": "1", "s5cmd": "2"},
        nginx="1.22",
        shard=GIB,
        repetitions=1,
        link_rate=200_000_000,
        sha256_cpu_s_per_gib=0.5,
        runs=runs,
        left_out=left_out or {},
    )


def the_row(record: Ingest, *, question: str, bar: str) -> Row:
    return next(row for row in ingest_rows(record) if question in row.question and bar in row.bar)


def test_a_ratio_on_its_limit_is_met() -> None:
    record = a_record(a_run("cached", cpu_s=1.1), a_run("s5cmd"))
    row = the_row(record, question="verified, HTTP", bar="1.1 x s5cmd")
    assert (row.measured, row.verdict) == ("1.10", "met")


def test_a_missed_ratio_says_by_how_much_of_the_limit() -> None:
    record = a_record(a_run("cached", cpu_s=1.32), a_run("s5cmd"))
    assert the_row(record, question="verified, HTTP", bar="1.1 x s5cmd").verdict == "missed by 20 %"


def test_speed_is_the_peers_time_over_ours() -> None:
    record = a_record(a_run("cached", durable_s=2.0), a_run("boto3", durable_s=4.0))
    row = the_row(record, question="4 files, HTTP", bar="2.5 x boto3")
    assert (row.measured, row.verdict) == ("2.00", "missed by 20 %")


def test_cpu_is_the_least_and_wall_the_median_of_the_repetitions() -> None:
    mine = [a_run("cached", cpu_s=cpu, durable_s=wall) for cpu, wall in ((3.0, 9.0), (1.0, 2.0), (2.0, 1.0))]
    record = a_record(*mine, a_run("s5cmd"))
    cpu = the_row(record, question="verified, HTTP", bar="1.1 x s5cmd")
    wall = the_row(record, question="4 files, HTTP", bar="0.9 x s5cmd")
    assert (cpu.measured, wall.measured) == ("1.00", "0.50")


def test_the_measured_cost_of_sha256_is_taken_off() -> None:
    record = a_record(a_run("cached", cpu_s=1.1), a_run("s5cmd"))
    assert the_row(record, question="less the measured cost", bar="0.7").measured == "0.60"


def test_the_link_row_compares_with_the_link_and_shows_the_peer() -> None:
    runs = [a_run(name, case="p4-link", size=10**9, durable_s=wall) for name, wall in (("cached", 5.1), ("s5cmd", 5.2))]
    row = the_row(a_record(*runs), question="link", bar="of the link")
    assert (row.measured, row.verdict) == ("0.980 (s5cmd 0.962)", "met")


def test_memory_that_grows_with_the_files_misses_its_bar() -> None:
    runs = [a_run("cached", pss_peak=200 * MIB), a_run("cached", case="eighth-http", pss_peak=100 * MIB)]
    assert the_row(a_record(*runs), question="8 times", bar="1.1").verdict == "missed by 82 %"


@pytest.mark.parametrize(("fetched", "verdict"), [(MIB, "met"), (2 * MIB, "missed by 100 %")])
def test_a_second_version_may_fetch_its_changed_file_alone(fetched: int, verdict: str) -> None:
    record = a_record(a_run("cached", case="shared-http", size=10 * MIB, fetched=fetched))
    assert verdict == the_row(record, question="second version", bar="changed").verdict


def test_a_case_left_out_gives_its_reason_and_not_a_verdict() -> None:
    record = a_record(left_out={"p4-link": "needs root"})
    assert the_row(record, question="link", bar="of the link").verdict == "not measured: needs root"


def test_a_warm_hit_is_judged_by_its_median_alone_and_its_tail_together() -> None:
    alone = Latency(callers=1, rate=None, seconds=(0.001, 0.002, 0.5))
    together = Latency(callers=64, rate=500.0, seconds=(0.001,) * 98 + (0.030,) * 2)
    record = WarmHit(machine=MACHINE, version="1", files=10, loads=(alone, together))
    verdicts = [(row.measured, row.verdict) for row in warmhit_rows(record)]
    assert verdicts == [("2.0 ms", "met"), ("30.0 ms", "missed by 50 %")]


@pytest.mark.parametrize(("percent", "expected"), [(50, 2.0), (75, 3.0), (99, 4.0), (100, 4.0)])
def test_a_percentile_is_a_value_that_was_measured(percent: float, expected: float) -> None:
    assert expected == percentile([4.0, 1.0, 3.0, 2.0], percent)
