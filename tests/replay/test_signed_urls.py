"""Presigned URLs: the query is for the request, the path for the name (kserve#1462, kserve#2938), and a signature
that ends in mid-download is renewed where a redirect made it (xet-core#238).
"""

from __future__ import annotations

from tests.helpers.hostile import Op, Synthetic
from tests.helpers.hostile.faults import Redirect, SignatureExpires
from tests.helpers.rig import PART, Rig

SIZE = 8 * PART


async def test_the_name_is_the_path_without_the_query_and_the_type_is_ignored(rig: Rig) -> None:
    """kserve#1462, kserve#2938."""
    rig.server.put_file("h/model.tar.gz", b"packed")
    target = f"{rig.server.url}/h/model.tar.gz?X-Signature=ab%2Fc&response-content-type=a%2Fb"
    assert await rig.ready(target) == {"model.tar.gz": b"packed"}
    assert {request.query["X-Signature"] for request in rig.server.requests} == {"ab/c"}


async def test_a_signature_that_expires_in_mid_download_is_renewed(rig: Rig) -> None:
    """xet-core#238: a 403 on the signed URL ended the download."""
    rig.server.put_file("h/big.bin", 0)
    rig.server.put_file("store/blob", SIZE)
    redirect = Redirect(f"{rig.server.url}/store/blob", sign=True)
    rig.server.misbehave("h/big.bin", redirect, times=None)
    rig.server.misbehave("h/big.bin", redirect, times=None, op=Op.HEAD)
    rig.server.misbehave("store/blob", SignatureExpires(uses=3), times=None)
    found = await rig.ready(f"{rig.server.url}/h/big.bin")
    assert found == {"big.bin": Synthetic(SIZE, "store/blob").read(0, SIZE)}
    assert 403 in {request.status for request in rig.server.asked("store/blob")}
