"""Naming a digest is not having it: nobody gets bytes of another source's by a forged identity ("Dropship", a fault
of content-addressed stores in general).
"""

from __future__ import annotations

from cached.config import Source
from cached.errors import Code
from cached.types import State
from tests.helpers.hostile import Hostile, Synthetic, digest
from tests.helpers.rig import PART, Rig
from tests.replay.conftest import Start

SIZE = 4 * PART
SECRET = Synthetic(SIZE, "secret")


async def two_tenants(start: Start, hostile: Hostile) -> Rig:
    rig = await start(rules=tuple(Source(prefix=f"s3://{each}/", endpoint=hostile.url) for each in ("aaa", "bbb")))
    rig.server.put("aaa/secret", SECRET)
    await rig.ready("s3://aaa/secret", name="private")
    return rig


async def test_a_digest_that_another_source_brought_is_not_linked_on_its_word(start: Start, hostile: Hostile) -> None:
    rig = await two_tenants(start, hostile)
    rig.server.put("bbb/m/mine", Synthetic(SIZE, "mine"))
    view = await rig.prefetch("s3://bbb/m", name="forged", sha256={"mine": digest(SECRET)})
    assert (view.state, view.reason) == (State.FAILED, Code.DIGEST_MISMATCH)
    assert not rig.layout.model(view.name).exists()


async def test_a_forged_etag_gets_its_own_bytes(start: Start, hostile: Hostile) -> None:
    rig = await two_tenants(start, hostile)
    etag = rig.server.shelf.get("aaa/secret").etag  # type: ignore[union-attr]
    forged = Synthetic(SIZE, "mine")
    rig.server.put("bbb/m/mine", forged, etag=etag, sse="aws:kms")
    assert await rig.ready("s3://bbb/m", name="forged") == {"mine": forged.read(0, SIZE)}
