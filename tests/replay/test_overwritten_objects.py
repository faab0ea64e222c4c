"""An object that is replaced while its parts download is never mixed with its successor (s3transfer#86,
aws-cli#2321).
"""

from __future__ import annotations

import functools

from cached.errors import Code
from tests.helpers.hostile import Synthetic
from tests.helpers.hostile.faults import Header
from tests.helpers.rig import PART, Rig

SIZE = 8 * PART
NEW = Synthetic(SIZE, "new")
ANYTIME = '"0123456789abcdef0123456789abcdef"'


async def test_a_replaced_object_is_fetched_again_from_its_beginning(rig: Rig) -> None:
    """The server says 412, as S3 does."""
    rig.server.put("bkt/big", SIZE)
    rig.server.when("bkt/big", lambda: rig.server.put("bkt/big", NEW), skip=3)
    assert await rig.ready("s3://bkt/big") == {"big": NEW.read(0, SIZE)}


async def test_a_versioned_bucket_goes_on_with_the_pinned_version(rig: Rig) -> None:
    old = rig.server.put("bkt/big", SIZE, version="v1")
    rig.server.when("bkt/big", lambda: rig.server.put("bkt/big", NEW, version="v2"), skip=3)
    assert await rig.ready("s3://bkt/big") == {"big": old.content.read(0, SIZE)}


async def test_another_etag_is_noticed_without_a_412(rig: Rig) -> None:
    """A server that ignores If-Match."""
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", Header("ETag", ANYTIME), skip=2)
    assert await rig.ready("s3://bkt/big") == {"big": Synthetic(SIZE, "bkt/big").read(0, SIZE)}


async def test_an_object_that_never_stays_fails_after_a_few_tries(rig: Rig) -> None:
    rig.server.put("bkt/big", SIZE)
    for number in range(40):
        successor = Synthetic(SIZE, f"version {number}")
        rig.server.when("bkt/big", functools.partial(rig.server.put, "bkt/big", successor), skip=2 * number + 1)
    view = await rig.refused("s3://bkt/big")
    assert view.reason is Code.SOURCE_UNAVAILABLE
    assert "replaced" in view.message
