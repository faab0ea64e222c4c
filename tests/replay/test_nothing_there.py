"""A URI with nothing behind it is an error that names it (kserve#440, kserve#1914), never an empty model."""

from __future__ import annotations

import pytest

from cached.errors import Code
from tests.helpers.rig import Rig


@pytest.mark.parametrize(
    ("uri", "named"),
    [("s3://bkt/nothing", "'nothing'"), ("s3://bkt/nothing/", "'nothing/'"), ("s3://nowhere/m", "'nowhere'")],
)
async def test_nothing_is_published_for_a_prefix_with_nothing_below(rig: Rig, uri: str, named: str) -> None:
    rig.server.put("bkt/other", b"x")
    view = await rig.refused(uri)
    assert view.reason is Code.NOT_FOUND
    assert named in view.message


async def test_a_folder_of_markers_alone_is_nothing(rig: Rig) -> None:
    rig.server.put("bkt/m/", b"")
    rig.server.put("bkt/m/sub/", b"")
    assert (await rig.refused("s3://bkt/m")).reason is Code.NOT_FOUND


async def test_a_missing_file_behind_a_url_is_not_found(rig: Rig) -> None:
    view = await rig.refused(f"{rig.server.url}/files/none.bin")
    assert view.reason is Code.NOT_FOUND
