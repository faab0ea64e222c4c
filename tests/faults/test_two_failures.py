"""A second failure while the first is still being cleared away: nobody leaves before its lanes are off the file."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from cached.errors import Code
from cached.types import State
from tests.helpers.hostile import Hostile, faults
from tests.helpers.rig import PART, Rig, config_for


async def test_a_file_that_waits_for_its_lanes_waits_on_when_its_model_fails(
    hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`a` changed and waits for a slow lane when `b` is refused, which cancels `a` in the middle of its end."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    hostile.put("bkt/m/a", 8 * PART)
    hostile.put("bkt/m/b", PART)
    changed, later = threading.Event(), threading.Event()
    hostile.misbehave("bkt/m/a", faults.Trickle(rate=2 * PART), times=None)
    hostile.misbehave("bkt/m/a", faults.precondition_failed(), skip=1)
    hostile.when("bkt/m/a", changed.set, skip=1)
    hostile.when("bkt/m/b", lambda: changed.wait(5) and later.wait(0.2))
    hostile.misbehave("bkt/m/b", faults.Refuse(404, "NoSuchKey"), times=None)
    rig = await Rig.start(hostile, config_for(tmp_path / "root", hostile))
    view = await rig.prefetch("s3://bkt/m")
    still_open = dict(rig.engine._scheduler._board.files)
    await rig.engine.stop()
    assert (view.state, view.reason) == (State.FAILED, Code.NOT_FOUND)
    assert still_open == {}
