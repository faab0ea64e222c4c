"""A full disk is told before the first byte where it can be known, and never leaves anything behind.

boto3#716, huggingface_hub#2742: ENOSPC while writing. sglang PR#26638: partials that a killed process left.
"""

from __future__ import annotations

import pytest

from cached import failpoints
from cached.errors import Code
from tests.helpers.hostile import Synthetic
from tests.helpers.rig import PART, Rig, names_in
from tests.replay.conftest import Start

SIZE = 8 * PART
HUGE = 1 << 50


async def test_what_cannot_fit_is_refused_before_its_first_byte(rig: Rig) -> None:
    """boto3#716: the download ran until the disk was full."""
    rig.server.put("bkt/m/huge", Synthetic(HUGE), etag='"00112233445566778899aabbccddeeff-9"')
    view = await rig.refused("s3://bkt/m")
    assert view.reason is Code.INSUFFICIENT_SPACE
    assert str(HUGE) in view.message
    assert rig.server.payload == 0


async def test_two_that_fit_alone_but_not_together_are_not_both_admitted(rig: Rig) -> None:
    half = rig.engine.status().disk_free * 6 // 10
    for key in ("one", "two"):
        rig.server.put(f"bkt/m/{key}", Synthetic(half, key), etag=f'"{key}-9"')
    assert (await rig.refused("s3://bkt/m")).reason is Code.INSUFFICIENT_SPACE
    assert rig.server.payload == 0


async def test_a_disk_that_fills_up_while_it_is_written_fails_the_model_and_frees_its_space(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """huggingface_hub#2742: the space was not given back, and the next download failed too."""
    monkeypatch.setenv(failpoints.VARIABLE, "worker.write=3*enospc")
    rig = await start()
    rig.server.put("bkt/big", SIZE)
    view = await rig.refused("s3://bkt/big")
    assert view.reason is Code.INSUFFICIENT_SPACE
    assert rig.engine.status().bytes_partial == 0
    assert await rig.ready("s3://bkt/big") == {"big": Synthetic(SIZE, "bkt/big").read(0, SIZE)}


async def test_partials_that_cannot_be_gone_on_with_are_swept_at_the_start(rig: Rig) -> None:
    """sglang PR#26638: leftovers of killed processes filled the disk for good."""
    wreck = rig.layout.ingests / ("ab" * 32)
    wreck.mkdir()
    (wreck / "data.0123456789abcdef").write_bytes(b"x" * 4096)
    await rig.restart()
    assert names_in(rig.layout.ingests) == []
    assert rig.engine.status().bytes_partial == 0
