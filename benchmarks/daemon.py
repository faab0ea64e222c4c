"""A cached daemon of the benchmark's own: started on an empty root, waited for, and ended.

Uses what a user would: the console scripts, a configuration file and the socket.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import BenchError
from cached import codec
from cached.api.client import Client
from cached.config import Source
from cached.errors import CachedError

START_S = 30.0
STOP_S = 20.0
BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A daemon that answers."""

    pid: int
    socket: Path
    startup_s: float
    """From the start of the process to the first answer that says ready."""

    def prefetch(self, uri: str, *, name: str) -> list[str]:
        """The command that fetches `uri` and waits for it."""
        return [str(BIN / "cachectl"), "prefetch", uri, "--name", name, "--json", "--socket", str(self.socket)]


def version() -> str:
    """The installed version."""
    return importlib.metadata.version("cached")


def s3_source(*, endpoint: str, region: str, ca_file: Path | None) -> Source:
    """The rule that sends every s3:// URI to `endpoint`."""
    return Source(prefix="s3://", endpoint=endpoint, region=region, ca_file=str(ca_file) if ca_file else None)


@contextlib.contextmanager
def running(
    folder: Path, *, sources: tuple[Source, ...], env: Mapping[str, str], inside: tuple[str, ...] = ()
) -> Iterator[Running]:
    """A daemon with its root, socket and log in `folder` until the block ends. Raises BenchError."""
    config = folder / "cached.yaml"
    rules = [{key: value for key, value in codec.to_builtins(rule).items() if value is not None} for rule in sources]
    config.write_bytes(codec.encode({"root": str(folder / "root"), "port": 0, "sources": rules}))
    socket = folder / "cached.sock"
    command = [*inside, str(BIN / "cached"), "serve", "--config", str(config), "--socket", str(socket)]
    with (folder / "cached.log").open("wb") as log:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=dict(env))
        try:
            _await_ready(process, socket, folder / "cached.log")
            yield Running(pid=process.pid, socket=socket, startup_s=time.perf_counter() - start)
        finally:
            _stop(process)


def fetch(daemon: Running, uri: str, *, name: str, env: Mapping[str, str]) -> None:
    """Have `uri` in the cache. Raises BenchError with what cachectl said."""
    command = daemon.prefetch(uri, name=name)
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=dict(env))
    if done.returncode:
        raise BenchError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()}")


def _await_ready(process: subprocess.Popen[bytes], socket: Path, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while not _ready(socket):
        if process.poll() is not None or time.monotonic() > deadline:
            raise BenchError(f"cached did not start: {log.read_text(errors='replace')[-2000:].strip()}")
        time.sleep(0.02)


def _ready(socket: Path) -> bool:
    try:
        return Client(socket).status().ready
    except CachedError:  # not there yet; the deadline is the caller's
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
