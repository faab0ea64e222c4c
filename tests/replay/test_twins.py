"""Two keys with one ETag are one file only where the ETag is made from the content.

A web server that plays S3 says `<mtime>-<size>`, and under SSE-KMS an ETag is any name at all (net-amazon-s3#109).
"""

from __future__ import annotations

from cached.types import Level
from tests.helpers.hostile import Synthetic
from tests.helpers.rig import PART, Rig

A, B = Synthetic(PART // 2, "a"), Synthetic(PART // 2, "b")
MD5 = '"0123456789abcdef0123456789abcdef"'


def both() -> dict[str, bytes]:
    return {"a": A.read(0, A.size), "b": B.read(0, B.size)}


async def test_files_that_share_a_web_servers_etag_are_fetched_each(rig: Rig) -> None:
    rig.server.put("bkt/m/a", A, etag='"6920a1b2-1000"')
    rig.server.put("bkt/m/b", B, etag='"6920a1b2-1000"')
    assert await rig.ready("s3://bkt/m") == both()


async def test_files_whose_answers_withdraw_the_etag_are_fetched_each(rig: Rig) -> None:
    rig.server.put("bkt/m/a", A, etag=MD5, sse="aws:kms")
    rig.server.put("bkt/m/b", B, etag=MD5, sse="aws:kms")
    assert await rig.ready("s3://bkt/m") == both()


async def test_one_content_under_two_keys_is_fetched_once(rig: Rig) -> None:
    rig.server.put("bkt/m/a", A)
    rig.server.put("bkt/m/b", A)
    await rig.ready("s3://bkt/m", name="m")
    view = rig.engine.models()[0]
    assert (view.bytes_fetched, view.bytes_reused, view.verified) == (A.size, A.size, Level.ALIAS)
