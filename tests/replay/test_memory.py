"""Memory stays flat, whatever the model's size (huggingface_hub#3300, kserve#5326: a 70 GB model killed a container
of 1 GiB).
"""

from __future__ import annotations

from pathlib import Path

from cached.config import Bytes, Transfer
from cached.types import State
from tests.helpers.hostile import Synthetic
from tests.helpers.rig import Rig
from tests.replay.conftest import Start

MIB = 1 << 20


async def test_a_worker_needs_no_more_for_256_mib_than_for_16(start: Start) -> None:
    rig = await start(transfer=Transfer(part=Bytes(4 * MIB)))
    small = await peak_after(rig, 16 * MIB)
    large = await peak_after(rig, 256 * MIB)
    assert large - small <= 4 * MIB
    assert large <= 80 * MIB


async def peak_after(rig: Rig, size: int) -> int:
    """Bytes of the worker's largest resident set so far, once a model of `size` was fetched."""
    rig.server.put(f"bkt/{size}", Synthetic(size, str(size)), etag=f'"{size}-9"')
    assert (await rig.prefetch(f"s3://bkt/{size}")).state is State.READY
    return high_water(rig.engine._scheduler.worker_pids[0])


def high_water(pid: int) -> int:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10
