"""An answer that ends early is noticed by counting (requests#4956, urllib3#311): most read loops do not tell."""

from __future__ import annotations

import pytest

from cached.errors import Code
from cached.types import State
from tests.helpers.hostile import Synthetic, faults
from tests.helpers.rig import PART, Rig

SIZE = 8 * PART
DATA = Synthetic(SIZE, "bkt/big").read(0, SIZE)


@pytest.mark.parametrize("fault", [faults.Cut(after=40), faults.Reset(after=5000), faults.Hangup()], ids=repr)
async def test_a_truncated_answer_is_never_taken_as_complete(rig: Rig, fault: faults.Fault) -> None:
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", fault, times=3, skip=1)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}


@pytest.mark.parametrize("path", ["bkt/small", "files/small"])
async def test_a_small_file_that_always_comes_short_fails(rig: Rig, path: str) -> None:
    rig.server.put(path, b"x" * 100) if path.startswith("bkt") else rig.server.put_file(path, b"x" * 100)
    rig.server.misbehave(path, faults.Cut(after=40), times=None)
    uri = f"s3://{path}" if path.startswith("bkt") else f"{rig.server.url}/{path}"
    view = await rig.prefetch(uri)
    assert (view.state, view.reason) == (State.FAILED, Code.SOURCE_UNAVAILABLE)
    assert list(rig.layout.models.iterdir()) == []


async def test_a_cut_costs_no_more_than_what_did_not_arrive(rig: Rig) -> None:
    """After a cut at 40 KiB of a 64 KiB part the rest is asked for, from the last whole block."""
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.Cut(after=40_000))
    assert await rig.ready("s3://bkt/big") == {"big": DATA}
    assert rig.server.payload <= SIZE + 4096


async def test_a_half_closed_connection_still_delivers(rig: Rig) -> None:
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.HalfClose(), times=None)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}
