"""The life of the process, with an engine that does what the test wants. The real one is in tests/cli."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import structlog

from cached.config import Config
from cached.errors import CachedError, Conflict
from cached.service import logs
from cached.service import run as module
from tests.helpers.memory_cache import MemoryCache

Act = Callable[[], Coroutine[Any, Any, None]]


async def for_ever() -> None:
    await asyncio.Event().wait()


async def terminate() -> None:
    """Be told to stop, as by the kubelet, and go on until that is obeyed."""
    os.kill(os.getpid(), signal.SIGTERM)
    await for_ever()


async def nothing() -> None:
    return


class Engine(MemoryCache):
    def __init__(self, *, start: Act = nothing, failed: Act = terminate, stop: Act = nothing) -> None:
        super().__init__()
        self._start, self.failed, self._stop = start, failed, stop
        self.stopped = False

    async def start(self, _: Config) -> Engine:
        await self._start()
        return self

    async def stop(self) -> None:
        self.stopped = True
        await self._stop()


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "root").mkdir()
    return Config(root=str(tmp_path / "root"), socket=str(tmp_path / "s"), port=0)


@pytest.fixture
def serve(config: Config, monkeypatch: pytest.MonkeyPatch) -> Callable[[Engine], None]:
    def serve(engine: Engine) -> None:
        monkeypatch.setattr(module, "Engine", engine)
        monkeypatch.setattr(logs, "configure", lambda: None)  # it is global
        with structlog.testing.capture_logs():
            module.run(config)

    return serve


def test_a_signal_stops_the_engine_and_removes_the_socket(serve: Callable[[Engine], None], config: Config) -> None:
    engine = Engine()
    serve(engine)
    assert (engine.stopped, Path(config.socket).exists()) == (True, False)


def test_a_signal_during_recovery_ends_the_start(serve: Callable[[Engine], None]) -> None:
    engine = Engine(start=terminate)
    serve(engine)
    assert not engine.stopped


def test_a_task_that_died_brings_the_process_down_with_its_reason(serve: Callable[[Engine], None]) -> None:
    async def die() -> None:
        raise CachedError("the task sealer ended unexpectedly")

    engine = Engine(failed=die)
    with pytest.raises(CachedError, match="the task sealer ended unexpectedly"):
        serve(engine)
    assert engine.stopped


def test_a_start_that_fails_leaves_no_socket_and_no_endpoint(serve: Callable[[Engine], None], config: Config) -> None:
    async def refuse() -> None:
        raise Conflict("another daemon holds the root")

    with pytest.raises(Conflict):
        serve(Engine(start=refuse))
    assert (Path(config.socket).exists(), Path(config.root, "endpoint.json").exists()) == (False, False)


def test_an_engine_that_does_not_stop_is_given_up(
    serve: Callable[[Engine], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STOP_LIMIT", 0.05)
    with pytest.raises(CachedError, match="did not stop"):
        serve(Engine(stop=for_ever))
