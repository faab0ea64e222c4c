"""An engine and a hostile server for each replay."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest_asyncio

from tests.helpers.hostile import Hostile
from tests.helpers.rig import Rig, config_for

Start = Callable[..., Awaitable[Rig]]


@pytest_asyncio.fixture
async def start(hostile: Hostile, tmp_path: Path) -> AsyncIterator[Start]:
    """Start an engine with settings of the test's own; see `config_for`. It is stopped after the test."""
    rigs: list[Rig] = []

    async def begin(*, server: Hostile = hostile, clock: object = None, **settings: object) -> Rig:
        config = config_for(tmp_path / "root", server, **settings)  # type: ignore[arg-type]
        rigs.append(await Rig.start(server, config, clock=clock))  # type: ignore[arg-type]
        return rigs[-1]

    yield begin
    for rig in rigs:
        await rig.engine.stop()


@pytest_asyncio.fixture
async def rig(start: Start) -> Rig:
    """An engine with the usual settings of a replay."""
    return await start()
