"""The benchmark itself, whole, with small files: that it runs, not how fast anything is."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import link, results
from benchmarks.contestants import PEERS
from benchmarks.datasets import MIB
from benchmarks.server import find_nginx

needs_nginx = pytest.mark.skipif(find_nginx() is None, reason="nginx is not installed (apt-get install nginx-light)")
needs_peers = pytest.mark.skipif(not (PEERS / ".ready").exists(), reason="no .venv-bench (make bench-setup)")


def ingest(record: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", "ingest", "--quick", "--json", str(record), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_nginx
@needs_peers
@pytest.mark.timeout(240)  # some 30 s on an idle machine with two cores
def test_a_quick_run_measures_every_contestant_of_every_case(tmp_path: Path) -> None:
    done = ingest(tmp_path / "record.json")
    assert done.returncode == 0, done.stderr
    record = results.load_ingest(tmp_path / "record.json")
    measured = {(run.case, run.contestant) for run in record.runs}
    four = ("cached", "s5cmd", "boto3-tuned", "kserve-storage")
    every = {(case, name) for case in ("p4-http", "p4-https", "p1-http") for name in (*four, "boto3")}
    alone = {("eighth-http", "cached"), ("shared-http", "cached")}
    slow = set() if link.missing() else {("p4-link", "cached"), ("p4-link", "s5cmd")}
    assert every | alone | slow | {("small-http", name) for name in four} == measured


@needs_nginx
def test_a_second_version_fetches_its_changed_file_alone(tmp_path: Path) -> None:
    done = ingest(tmp_path / "record.json", "--only", "shared-http", "--contestant", "cached")
    assert done.returncode == 0, done.stderr
    assert [run.fetched for run in results.load_ingest(tmp_path / "record.json").runs] == [MIB]


@needs_nginx
@needs_peers
def test_a_run_that_is_ended_in_the_middle_leaves_nothing_running(tmp_path: Path) -> None:
    tmpfs, disk = tmp_path / "tmpfs", tmp_path / "disk"
    tmpfs.mkdir()
    disk.mkdir()
    options = ["--shard", "16MiB", "--only", "p4-http", "--contestant", "boto3", "--repetitions", "1000"]
    command = [sys.executable, "-m", "benchmarks", "ingest", *options, "--tmpfs", str(tmpfs), "--disk", str(disk)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        process.stderr.readline()  # the first turn is over, so the second has begun
        process.terminate()
        process.communicate()
    assert (process.returncode, running_in(tmp_path), list(tmpfs.iterdir()), list(disk.iterdir())) == (143, [], [], [])


def running_in(folder: Path) -> list[str]:
    """Command lines of live processes that name `folder`."""
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(entry.read_text().replace("\0", " "))
    return [line for line in lines if str(folder) in line]


def test_a_warm_hit_is_measured_alone_and_under_load(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    command = [sys.executable, "-m", "benchmarks", "warmhit", "--requests", "100", "--json", str(record)]
    done = subprocess.run([*command, "--disk", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loads = results.load_warmhit(record).loads
    assert [(load.callers, load.rate, len(load.seconds)) for load in loads] == [(1, None, 100), (64, 500.0, 100)]


def test_an_unknown_case_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    done = ingest(tmp_path / "record.json", "--only", "p5-http")
    assert (done.returncode, "there is no case 'p5-http'; there are p4-http, p4-https" in done.stderr) == (1, True)


def test_a_run_without_nginx_says_how_to_get_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", NO_NGINX, "ingest", "--quick", "--only", "eighth-http", "--contestant", "cached"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert (done.returncode, "apt-get install -y nginx-light" in done.stderr) == (1, True)


NO_NGINX = """
import sys
from benchmarks import server, __main__
server.find_nginx = lambda: None
sys.exit(__main__.main(sys.argv[1:]))
"""
