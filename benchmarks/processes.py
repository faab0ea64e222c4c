"""What a set of processes and their descendants use, read from /proc. Never changes or signals any of them.

A process that ends between two reads is left out; its CPU time is then in the `children` times of the parent
that reaped it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")
QUIET_S = 0.3
PROC = Path("/proc")


def family(pids: Iterable[int]) -> tuple[int, ...]:
    """`pids` and all that descend from them, each once."""
    seen: dict[int, None] = {}
    waiting = list(pids)
    while waiting:
        pid = waiting.pop()
        if pid not in seen:
            seen[pid] = None
            waiting.extend(_children(pid))
    return tuple(seen)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in (PROC / str(pid) / "task").iterdir():
            found.extend(int(child) for child in (task / "children").read_text().split())
    except OSError:
        return found
    return found


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of the family so far, reaped children included; in steps of 10 ms a process."""
    return sum(_ticks(pid) for pid in family(pids)) * TICK


def _ticks(pid: int) -> int:
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return 0
    # The second field is the program's name in parentheses and may itself hold spaces. utime, stime, cutime
    # and cstime are fields 14 to 17 (proc(5)); what follows the name begins with field 3.
    fields = text.rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15])


def pss_bytes(pids: Iterable[int]) -> int:
    """Proportional set size of the family: shared pages are counted once in all."""
    return sum(_pss(pid) for pid in family(pids))


def _pss(pid: int) -> int:
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def settled_cpu_seconds(pids: Iterable[int], *, limit_s: float = 10.0) -> float:
    """`cpu_seconds` once it stood still for 0.3 s, so that work put off until after the answer counts too."""
    roots = tuple(pids)
    deadline = time.monotonic() + limit_s
    used = cpu_seconds(roots)
    while roots and time.monotonic() < deadline:
        time.sleep(QUIET_S)
        before, used = used, cpu_seconds(roots)
        if used == before:
            break
    return used
