"""What the run stood on: the machine's fingerprint, and whether there is room for the files."""

from __future__ import annotations

import os
import platform
import shutil
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from benchmarks.datasets import GIB
from benchmarks.errors import BenchError


class Machine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Enough to tell two machines, and two states of one machine, apart."""

    cpu: str
    cores: int
    memory: int
    """Bytes."""
    kernel: str
    disk: str
    """File system and device of the folder that is written to."""
    source: str
    """File system of the folder that the server reads from."""
    python: str
    date: str
    """UTC, ISO 8601."""


def fingerprint(*, disk: Path, source: Path) -> Machine:
    """This machine, now."""
    return Machine(
        cpu=_cpu_model(Path("/proc/cpuinfo").read_text()),
        cores=len(os.sched_getaffinity(0)),
        memory=memory("MemTotal"),
        kernel=platform.release(),
        disk=file_system(disk, Path("/proc/self/mountinfo").read_text()),
        source=file_system(source, Path("/proc/self/mountinfo").read_text()),
        python=platform.python_version(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _cpu_model(cpuinfo: str) -> str:
    for line in cpuinfo.splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory(field: str) -> int:
    """Bytes of a line of /proc/meminfo, such as MemAvailable."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) << 10
    raise BenchError(f"/proc/meminfo has no {field}")


def file_system(path: Path, mountinfo: str) -> str:
    """`<type> on <device>` of the mount that holds `path`, from the text of /proc/self/mountinfo."""
    best, answer = -1, "unknown"
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        mount, kind = Path(left.split()[4]), right.split()
        # The later of two mounts on one folder is the one that shows.
        if path.resolve().is_relative_to(mount) and len(mount.parts) >= best:
            best, answer = len(mount.parts), f"{kind[0]} on {kind[1]}"
    return answer


def require_space(folder: Path, needed: int, *, what: str) -> None:
    """Raises BenchError with the numbers unless `folder` has `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BenchError(
            f"{what} needs {needed / GIB:.1f} GiB in {folder}, which has {free / GIB:.1f} GiB free; "
            "choose another folder (--disk, --tmpfs) or smaller files (--shard)"
        )
