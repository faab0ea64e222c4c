"""Whatever a server does, in whatever order: a model is Ready with the right bytes, or it Failed and nothing of it
is published. The seeds are fixed; a failure names its own.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from cached.types import State
from tests.helpers.hostile import Hostile, Synthetic, faults
from tests.helpers.rig import PART, Rig, config_for, files_of, names_in

SEEDS = range(int(os.environ.get("CACHED_SEEDS", "12")))
SIZES = {"m/big": 8 * PART, "m/odd": 3 * PART + 777, "m/small": 1000}
MIXTURE: tuple[faults.Fault, ...] = (
    faults.Cut(after=0),
    faults.Cut(after=40_000),
    faults.Reset(after=10_000),
    faults.Hangup(),
    faults.Stall(after=20_000),
    faults.HalfClose(after=30_000),
    faults.ShortLength(by=1),
    faults.NoLength(),
    faults.NoLength(after=500),
    faults.Chunked(),
    faults.Chunked(after=500),
    faults.Extra(b"x" * 5000),
    faults.Gzip(),
    faults.IgnoreRange(),
    faults.RangedOk(),
    faults.WrongStart(by=4096),
    faults.WrongTotal(by=1),
    faults.Multipart(),
    faults.Flip(at=500),
    faults.Header("ETag", '"other"'),
    faults.Header("ETag", None),
    faults.Header("Content-Range", None),
    faults.slow_down(),
    faults.slow_down(retry_after=0),
    faults.too_many(seconds=1),
    faults.not_satisfiable(),
    faults.precondition_failed(),
    faults.expired_token(),
    faults.access_denied(),
)


@pytest.mark.parametrize("seed", SEEDS)
async def test_no_mixture_of_faults_publishes_wrong_bytes(
    hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    for key, size in SIZES.items():
        hostile.put(f"bkt/{key}", size)
    sprinkle(hostile, random.Random(seed))
    rig = await Rig.start(hostile, config_for(tmp_path / "root", hostile))
    view = await rig.prefetch("s3://bkt/m")
    published = files_of(view) if view.state is State.READY else names_in(rig.layout.models)
    await rig.engine.stop()
    expected = {key.removeprefix("m/"): Synthetic(size, f"bkt/{key}").read(0, size) for key, size in SIZES.items()}
    assert published == (expected if view.state is State.READY else [])


def sprinkle(server: Hostile, dice: random.Random) -> None:
    """A dozen faults, each on one or two of the first requests for some object; some meet on one request."""
    for _ in range(12):
        path = f"bkt/{dice.choice(list(SIZES))}"
        server.misbehave(path, dice.choice(MIXTURE), skip=dice.randrange(8), times=dice.choice((1, 1, 2)))
