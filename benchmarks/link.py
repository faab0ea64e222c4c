"""A slow network: a network namespace whose loopback carries a set number of bytes a second in all.

nginx's own `limit_rate` holds each connection to a rate, which says nothing about the sum, and a proxy would
spend the CPU that is being measured. The kernel's token bucket limits the sum and costs nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator

from benchmarks.errors import BenchError


def missing() -> str | None:
    """Why there can be no such link here, or None."""
    if os.geteuid() != 0:
        return "a rate-limited link needs root (network namespaces)"
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            return f"a rate-limited link needs `{program}` (iproute2)"
    return None


@contextlib.contextmanager
def limited(rate: int) -> Iterator[tuple[str, ...]]:
    """The command prefix that runs a program on a link of `rate` bytes a second. Raises BenchError."""
    name = f"cached-bench-{os.getpid()}"
    _run("ip", "netns", "add", name)
    try:
        _run("ip", "-n", name, "link", "set", "lo", "up")
        # 1 MB of burst is 5 ms at 200 MB/s: what arrives faster than the link is below 0.1 % of a run.
        bucket = ["rate", f"{rate * 8}bit", "burst", "1mb", "latency", "50ms"]
        _run("tc", "-n", name, "qdisc", "add", "dev", "lo", "root", "tbf", *bucket)
        yield ("ip", "netns", "exec", name)
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise BenchError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
