from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import measure
from benchmarks.errors import BenchError
from benchmarks.measure import Attempt

MIB = 1 << 20
BURN = "import time\nwhile time.process_time() < 0.4: pass"
BURN_MORE = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
HOLD = "import time; kept = bytearray(b'x') * (64 << 20); time.sleep(0.4)"


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-S", "-c", code, *arguments]


def by_a_child(code: str) -> list[str]:
    return python("import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', sys.argv[1]], check=True)", code)


@contextmanager
def a_server(fifo: Path, code: str) -> Iterator[int]:
    """The pid of a process that runs `code` each time somebody writes to `fifo`, after it was written to."""
    os.mkfifo(fifo)
    loop = f"import sys\nwhile open(sys.argv[1]).read() == 'go':\n    exec({code!r})"
    process = subprocess.Popen(python(loop, str(fifo)))
    try:
        yield process.pid
    finally:
        fifo.write_text("stop")
        process.wait()


def ask(fifo: Path) -> list[str]:
    return python("import sys; open(sys.argv[1], 'w').write('go')", str(fifo))


def test_the_cpu_time_of_grandchildren_counts() -> None:
    usage = measure.run(Attempt(argv=by_a_child(BURN), env={}))
    assert usage.cpu_s >= 0.4


def test_the_memory_of_grandchildren_counts() -> None:
    usage = measure.run(Attempt(argv=by_a_child(HOLD), env={}))
    assert usage.pss_peak >= 64 * MIB


def test_what_a_background_process_does_for_the_command_counts_even_after_its_answer(tmp_path: Path) -> None:
    with a_server(tmp_path / "fifo", BURN_MORE) as pid:
        usage = measure.run(Attempt(argv=ask(tmp_path / "fifo"), env={}, background=(pid,)))
    assert usage.cpu_s >= 0.4


def test_what_a_background_process_did_before_does_not_count(tmp_path: Path) -> None:
    with a_server(tmp_path / "fifo", BURN_MORE) as pid:
        subprocess.run(ask(tmp_path / "fifo"), check=True)
        usage = measure.run(Attempt(argv=python("pass"), env={}, background=(pid,)))
    assert usage.cpu_s < 0.4


def test_the_memory_of_a_background_process_counts(tmp_path: Path) -> None:
    with a_server(tmp_path / "fifo", "kept = bytearray(b'x') * (64 << 20)") as pid:
        subprocess.run(ask(tmp_path / "fifo"), check=True)
        usage = measure.run(Attempt(argv=python("pass"), env={}, background=(pid,)))
    assert usage.pss_peak >= 64 * MIB


def test_touching_memory_is_not_part_of_the_run() -> None:
    usage = measure.run(Attempt(argv=python("pass"), env={}), touch=256 * MIB)
    assert usage.pss_peak < 256 * MIB


def test_a_failed_command_ends_in_an_error_with_what_it_said() -> None:
    with pytest.raises(BenchError, match="ended with 3: no such bucket"):
        measure.run(Attempt(argv=python("import sys; print('no such bucket', file=sys.stderr); sys.exit(3)"), env={}))


def test_a_command_that_hangs_is_ended_with_its_children() -> None:
    with pytest.raises(BenchError, match="ended with -9"):
        measure.run(Attempt(argv=by_a_child("import time; time.sleep(60)"), env={}), timeout_s=0.3)


def test_standard_output_is_kept_for_the_contestant_to_read() -> None:
    assert measure.run(Attempt(argv=python("print('here')"), env={})).stdout == "here\n"


def test_the_sync_of_a_folder_takes_some_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * MIB)
    assert measure.sync(tmp_path) > 0
