"""An engine and a hostile server for each replay."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.helpers.hostile import Hostile
from tests.helpers.rig import Rig, config_for

Start = Callable[..., Awaitable[Rig]]


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keys for the server, and none of the developer's own settings."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_CA_BUNDLE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


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
