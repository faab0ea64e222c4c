"""Runs one command and says what it cost: wall time, CPU seconds, peak memory, and the sync that it left undone.

Knows no contestant. Touches memory before each run, because on a virtual machine free pages go back to the
host and taking them again costs the guest up to five times the CPU of the run itself.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from benchmarks import processes
from benchmarks.errors import BenchError

SAMPLE_S = 0.05
TIMEOUT_S = 900.0
TAIL = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A command ready to be run. `background` are processes that work for it and are measured with it."""

    argv: Sequence[str]
    env: Mapping[str, str]
    background: tuple[int, ...] = ()
    startup_s: float | None = None
    """What it took to start `background`; not part of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one run cost, in seconds and bytes."""

    wall_s: float
    cpu_s: float
    """Of the command and its descendants, and what `background` used meanwhile and until it was quiet."""
    pss_peak: int
    """The largest sum over all processes that a sample saw."""
    stdout: str


def run(attempt: Attempt, *, touch: int = 0, timeout_s: float = TIMEOUT_S) -> Usage:
    """Run it to its end, after `touch` bytes of memory were taken from the host.

    Raises BenchError with the end of its stderr if it fails or takes too long.
    """
    before = processes.settled_cpu_seconds(attempt.background)
    if touch:
        # Last of all, and for everybody: the kernel begins to hand free pages back within two seconds.
        _touch_memory(touch)
    ended = _execute(attempt, timeout_s)
    behind = processes.settled_cpu_seconds(attempt.background) - before
    return Usage(
        wall_s=ended.wall_s,
        cpu_s=ended.resources.ru_utime + ended.resources.ru_stime + behind,
        pss_peak=ended.pss_peak,
        stdout=ended.stdout,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    wall_s: float
    resources: resource.struct_rusage
    pss_peak: int
    stdout: str


def _execute(attempt: Attempt, timeout_s: float) -> _Ended:
    # Files, not pipes: nobody has to read along, and a large answer cannot block.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(
            attempt.argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=dict(attempt.env),
            start_new_session=True,
        )
        with _Watch(child.pid, attempt.background, deadline=time.monotonic() + timeout_s) as watch:
            _, status, resources = os.wait4(child.pid, 0)
            wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise BenchError(f"`{' '.join(attempt.argv)[:300]}` ended with {child.returncode}: {_text(err)[-TAIL:]}")
        return _Ended(wall_s=wall, resources=resources, pss_peak=watch.peak, stdout=_text(out))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


class _Watch:
    """A thread that samples memory while the block runs, and kills the command's session at the deadline
    or when the block is left early."""

    def __init__(self, pid: int, background: tuple[int, ...], *, deadline: float) -> None:
        self.peak = 0
        self._pid = pid
        self._all = (pid, *background)
        self._deadline = deadline
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="watch")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if failure is not None:  # interrupted: nobody else would end a session of its own
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)

    def _sample(self) -> None:
        while True:
            self.peak = max(self.peak, processes.pss_bytes(self._all))
            if self._over.wait(SAMPLE_S):
                return
            if time.monotonic() > self._deadline:
                os.killpg(self._pid, signal.SIGKILL)
                return


def sync(folder: Path) -> float:
    """Seconds it takes to make everything on `folder`'s file system durable."""
    start = time.perf_counter()
    subprocess.run(["sync", "-f", str(folder)], check=True)
    return time.perf_counter() - start


def _touch_memory(size: int) -> None:
    """Take `size` bytes from the host and free them again, in a process of its own."""
    code = "import mmap, sys; mmap.mmap(-1, int(sys.argv[1]), flags=mmap.MAP_PRIVATE | mmap.MAP_POPULATE)"
    subprocess.run([sys.executable, "-c", code, str(size)], check=True)
