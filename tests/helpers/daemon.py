"""`cached serve` and the hostile server as child processes, for tests that kill them.

Both end with the test that started them, however it ends: as context managers, and the server when its
standard input closes.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from cached import codec
from cached.api.client import Client
from cached.config import Config
from cached.errors import CachedError
from tests.helpers.hostile.server import STATS

PATIENCE = 30.0
"""Seconds that a start or an end may take on a busy machine."""
_PROGRAM = "from cached.cli.main import cached_main; cached_main()"


def until(condition: Callable[[], bool], *, what: str, seconds: float = PATIENCE) -> None:
    """Wait for a condition of another process. Raises TimeoutError that names `what`."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.01)


@dataclass(slots=True)
class Daemon:
    """A daemon on one root, which may be killed and begun again."""

    config: Config
    process: subprocess.Popen[bytes] = field(init=False)

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.kill()

    @property
    def client(self) -> Client:
        return Client(Path(self.config.socket))

    def begin(self) -> None:
        """Start it and wait until it is ready."""
        settings = Path(self.config.root).with_suffix(".yaml")
        settings.write_bytes(codec.encode(self.config))
        command = [sys.executable, "-c", _PROGRAM, "serve", "--config", str(settings)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until(self._ready, what="the daemon is ready")

    def _ready(self) -> bool:
        assert self.process.poll() is None, f"the daemon ended with {self.process.returncode}"
        with contextlib.suppress(CachedError):
            return self.client.status().ready
        return False

    def workers(self) -> list[int]:
        """Process ids of its children."""
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def kill(self) -> None:
        """SIGKILL, and wait until its workers are gone too."""
        workers = self.workers() if self.process.poll() is None else []
        self.process.kill()
        self.process.wait()
        until(lambda: not any(map(_alive, workers)), what="the workers of the killed daemon end")

    def kill_worker(self) -> None:
        """SIGKILL to one of its workers."""
        os.kill(self.workers()[0], signal.SIGKILL)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@dataclass(frozen=True, slots=True)
class Remote:
    """A hostile server in another process."""

    url: str

    def payload(self) -> int:
        """Payload bytes sent so far."""
        with urllib.request.urlopen(self.url + STATS, timeout=PATIENCE) as answer:
            return int(json.load(answer)["payload"])


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[Remote]:
    """`python -m tests.helpers.hostile` with `arguments`, until the block ends."""
    command = [sys.executable, "-m", "tests.helpers.hostile", "--until-eof", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        yield Remote(json.loads(process.stdout.readline())["url"])
