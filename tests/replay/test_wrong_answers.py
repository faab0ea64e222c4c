"""Answers that are not the range that was asked for are never written at its place.

200 to a Range: rustup#4710, gopeed#1458. A 206 of another range: pip PR#14131. A 416 inside the file:
huggingface_hub#4223. Compression on the way: the wire side of rclone#2658.
"""

from __future__ import annotations

import pytest

from cached.errors import Code
from tests.helpers.hostile import Synthetic, faults
from tests.helpers.rig import PART, Rig

SIZE = 8 * PART
DATA = Synthetic(SIZE, "bkt/big").read(0, SIZE)


async def test_a_server_that_ignores_ranges_is_read_as_one_stream(rig: Rig) -> None:
    """rustup#4710, gopeed#1458: the whole was written at each part's offset."""
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.IgnoreRange(), times=None)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}
    assert [request.range for request in rig.server.asked("bkt/big")].count(None) == 1


async def test_a_server_that_ignores_ranges_now_and_then_is_read_rightly(rig: Rig) -> None:
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.IgnoreRange(), skip=3)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}


async def test_a_200_that_holds_exactly_the_range_is_taken(rig: Rig) -> None:
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.RangedOk(), times=None)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}
    assert rig.server.payload == SIZE


@pytest.mark.parametrize(
    "fault",
    [
        faults.WrongStart(by=4096),
        faults.WrongTotal(by=1),
        faults.Multipart(),
        faults.ShortLength(by=1),
        faults.NoLength(),
        faults.NoLength(after=100),
        faults.Chunked(),
        faults.Gzip(),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_a_wrong_answer_is_rejected_and_asked_for_again(rig: Rig, fault: faults.Fault) -> None:
    """pip PR#14131 and its kin."""
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", fault, skip=3, times=2)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}


async def test_a_416_inside_the_file_has_the_object_looked_up_again(rig: Rig) -> None:
    """huggingface_hub#4223."""
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.not_satisfiable(), skip=3)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}


async def test_a_416_inside_the_file_is_never_its_end(rig: Rig) -> None:
    """huggingface_hub#4223."""
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.not_satisfiable(), times=None, skip=3)
    assert (await rig.refused("s3://bkt/big")).reason is Code.SOURCE_UNAVAILABLE


async def test_bytes_behind_the_end_are_not_the_next_answer(rig: Rig) -> None:
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", faults.Extra(b"HTTP/1.1 206 Partial Content\r\n\r\n"), times=None)
    assert await rig.ready("s3://bkt/big") == {"big": DATA}
