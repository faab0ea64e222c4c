"""kill -9 at random moments of a download: the bytes come out right, and little is fetched twice.

Three rounds of 256 MiB with small parts and windows; with CACHED_PROVE=1 ten rounds of 1 GiB with the settings
that users have. The seed is printed; CACHED_SEED=<seed> plays the same moments again.
"""

from __future__ import annotations

import hashlib
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cached.api.types import ModelView, Want
from cached.config import Bytes, Config, Seconds, Source, Transfer
from cached.types import ModelName, State, Uri
from tests.helpers.daemon import Daemon, Remote, serving, until
from tests.helpers.hostile import Synthetic, digest

MIB = 1 << 20
PROVE = os.environ.get("CACHED_PROVE") == "1"
ROUNDS = range(10 if PROVE else 3)
SIZE = (1024 if PROVE else 256) * MIB
RATE = "200MiB" if PROVE else "100MiB"
TRANSFER = Transfer() if PROVE else Transfer(part=Bytes(4 * MIB), window=Bytes(32 * MIB), window_time=Seconds(30))
IN_FLIGHT = TRANSFER.connections * TRANSFER.part

pytestmark = pytest.mark.timeout(600 if PROVE else 120)


@pytest.fixture(scope="module")
def remote() -> Iterator[Remote]:
    objects = [f"--object=bkt/{kind}-{number}={SIZE}" for kind in ("daemon", "worker") for number in ROUNDS]
    with serving("--rate", RATE, *objects) as server:
        yield server


@pytest.fixture
def daemon(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with tempfile.TemporaryDirectory(prefix="kill-") as folder:  # a unix socket's path has at most 107 bytes
        config = Config(
            root=f"{folder}/root",
            socket=f"{folder}/s",
            port=0,
            sources=(Source(prefix="s3://", endpoint=remote.url),),
            transfer=TRANSFER,
        )
        with Daemon(config) as daemon:
            yield daemon


@pytest.fixture
def dice() -> random.Random:
    seed = os.environ.get("CACHED_SEED") or str(random.SystemRandom().getrandbits(32))
    print(f"CACHED_SEED={seed}")  # noqa: T201  shown when the test fails
    return random.Random(seed)


@pytest.mark.parametrize("number", ROUNDS)
def test_a_killed_daemon_goes_on_where_its_journal_ends(
    daemon: Daemon, remote: Remote, dice: random.Random, number: int
) -> None:
    before = remote.payload()
    name = ask(daemon, f"daemon-{number}")
    wait_for(daemon, name, dice.randrange(SIZE // 20, SIZE * 9 // 10))
    daemon.kill()
    daemon.begin()
    view = finished(daemon, name)
    assert sha256_of(view, f"daemon-{number}") == digest(Synthetic(SIZE, f"bkt/daemon-{number}"))
    assert fetched_again(remote, before) <= IN_FLIGHT + TRANSFER.window


@pytest.mark.parametrize("number", ROUNDS)
def test_a_killed_worker_costs_its_parts_in_flight(
    daemon: Daemon, remote: Remote, dice: random.Random, number: int
) -> None:
    before = remote.payload()
    name = ask(daemon, f"worker-{number}")
    wait_for(daemon, name, dice.randrange(SIZE // 20, SIZE * 9 // 10))
    daemon.kill_worker()
    view = finished(daemon, name)
    assert sha256_of(view, f"worker-{number}") == digest(Synthetic(SIZE, f"bkt/worker-{number}"))
    assert fetched_again(remote, before) <= IN_FLIGHT


def fetched_again(remote: Remote, before: int) -> int:
    again = remote.payload() - before - SIZE
    print(f"fetched again: {again / MIB:.1f} MiB")  # noqa: T201  the figure that a recorded run is made for
    return again


def ask(daemon: Daemon, key: str) -> ModelName:
    return daemon.client.prefetch(Want(uri=Uri(f"s3://bkt/{key}"))).name


def wait_for(daemon: Daemon, name: ModelName, count: int) -> None:
    """Until `count` bytes are in place."""
    until(lambda: daemon.client.model(name).model.bytes_done >= count, what=f"{count} bytes are in place")


def finished(daemon: Daemon, name: ModelName) -> ModelView:
    view = list(daemon.client.events(name))[-1].model
    assert (view.state, view.message) == (State.READY, "")
    return view


def sha256_of(view: ModelView, key: str) -> str:
    with Path(view.path, key).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
