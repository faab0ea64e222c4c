"""The real programs as child processes, against a real daemon on a temporary root and the hostile server."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cached.api.client import Client
from cached.types import ModelName, State
from tests.helpers.hostile import Hostile

BIN = Path(sys.executable).parent
CHECKOUT = Path(__file__).parents[2]
PATIENCE = 30.0


def until(condition: Callable[[], bool], what: str) -> None:
    """Look again and again until it holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE:.0f} s for {what}"
        time.sleep(0.02)


@contextlib.contextmanager
def default_interrupt() -> Iterator[None]:
    """While a child is started SIGINT has a handler here, which makes it default there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass
class Box:
    """A place for one daemon: root, socket, settings, environment."""

    folder: Path
    server: Hostile
    settings: dict[str, Any] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    port: int = 0

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def socket(self) -> Path:
        return self.folder / "run" / "cached.sock"

    @property
    def client(self) -> Client:
        return Client(self.socket)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"}
        ours = {"PYTHONPATH": str(CHECKOUT)}  # the programs are those beside this file, whichever is installed
        return kept | keys | ours | {"CACHED_SOCKET": str(self.socket), "PYTHONWARNINGS": "default"}

    def config(self) -> Path:
        path = self.folder / "config.yaml"
        rule = {"prefix": "s3://", "endpoint": self.server.url, "region": "us-east-1"}
        quick = {"stall_window": 1, "retry_base": "50ms", "retry_cap": "200ms", "connect": 2}
        path.write_text(json.dumps({"sources": [rule], "timeouts": quick, "port": 0} | self.settings))
        return path

    def spawn(self, program: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
        # A shell's background job ignores Ctrl-C, and whatever such a job starts would too.
        with default_interrupt():
            process = subprocess.Popen([BIN / program, *arguments], env=self.environment, **options)
        self.started.append(process)
        return process

    def run(self, program: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run to the end."""
        process = self.spawn(program, *arguments, **options)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def ctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("cachectl", *arguments)

    def json(self, *arguments: str) -> Any:
        """The JSON that a command prints; it must succeed and say nothing else."""
        ended = self.ctl(*arguments, "--json")
        assert (ended.returncode, ended.stderr) == (0, "")
        return json.loads(ended.stdout)

    def serve(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the daemon and wait until it serves."""
        options = ("--config", str(self.config()), "--root", str(self.root), "--socket", str(self.socket), *arguments)
        with (self.folder / "daemon.log").open("a") as log:
            daemon = self.spawn("cached", "serve", *options, stderr=log)
        assert daemon.stdout is not None
        line = daemon.stdout.readline()
        assert line, (self.folder / "daemon.log").read_text()
        self.port = json.loads(line)["port"]
        until(lambda: self.get("/readyz")[0] == 200, "readiness")
        return daemon

    def get(self, target: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{target}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def downloading(self, name: str) -> None:
        """Wait until bytes of that model have come."""
        until(lambda: self.client.model(ModelName(name)).model.bytes_done > 0, f"bytes of {name}")

    def state(self, name: str) -> State:
        return self.client.model(ModelName(name)).model.state

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
            for stream in filter(None, (process.stdout, process.stderr)):
                stream.close()


@contextlib.contextmanager
def boxed(folder: Path) -> Iterator[Box]:
    """A box with a server of its own, and a bucket with one model: s3://models/m, 3 files."""
    with Hostile() as server:
        place = Box(folder, server)
        server.put("models/m/config.json", b"{}")
        server.put("models/m/a.bin", 300_000)
        server.put("models/m/sub/b.bin", 200_000)
        try:
            yield place
        finally:
            place.close()


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """No daemon runs yet."""
    with boxed(tmp_path) as place:
        yield place


@pytest.fixture
def daemon(box: Box) -> Box:
    """A daemon that serves."""
    box.serve()
    return box


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A daemon that has s3://models/m as `m`, for tests that change nothing."""
    with boxed(tmp_path_factory.mktemp("stocked")) as place:
        place.serve()
        assert place.ctl("prefetch", "s3://models/m", "--name", "m").returncode == 0
        yield place


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """No daemon ever runs here."""
    with boxed(tmp_path_factory.mktemp("alone")) as place:
        yield place
