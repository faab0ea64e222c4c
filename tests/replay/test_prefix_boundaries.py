"""A prefix matches whole folders only (kserve#3776, kserve#2473): neighbours of a like name are not the model."""

from __future__ import annotations

from cached.errors import Code
from tests.helpers.rig import Rig


async def test_a_neighbour_whose_name_begins_alike_is_not_part_of_the_model(rig: Rig) -> None:
    """kserve#3776: `model/` brought `model-v2/` along."""
    for key in ("model/a", "model-v2/a", "model-v2/b"):
        rig.server.put(f"bkt/{key}", key.encode())
    assert await rig.ready("s3://bkt/model") == {"a": b"model/a"}


async def test_neighbours_alone_are_not_found(rig: Rig) -> None:
    """kserve#2473: `test/churn` matched `test/churn-pickle` and came out empty."""
    for key in ("test/churn-pickle", "test/churn-pickle-logs"):
        rig.server.put(f"bkt/{key}", b"x")
    view = await rig.refused("s3://bkt/test/churn")
    assert view.reason is Code.NOT_FOUND
    assert "test/churn" in view.message
