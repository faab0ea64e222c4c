"""One setting trusts a private authority for every source (huggingface_hub#1271); dotted buckets work over TLS
(aws-cli#851), because buckets stand in the path.
"""

from __future__ import annotations

from cached.config import Source
from cached.errors import Code
from tests.helpers.hostile import Hostile, Synthetic
from tests.helpers.rig import PART
from tests.replay.conftest import Start

SIZE = 4 * PART


async def test_s3_and_https_trust_the_authority_of_their_source(hostile_tls: Hostile, start: Start) -> None:
    hostile_tls.put("my.models.v1/big", SIZE)
    hostile_tls.put_file("files/big", SIZE)
    rig = await start(server=hostile_tls)
    data = Synthetic(SIZE, "my.models.v1/big").read(0, SIZE)
    assert await rig.ready("s3://my.models.v1/big") == {"big": data}
    data = Synthetic(SIZE, "files/big").read(0, SIZE)
    assert await rig.ready(f"{hostile_tls.url}/files/big") == {"big": data}


async def test_an_unknown_authority_is_refused_and_the_setting_named(hostile_tls: Hostile, start: Start) -> None:
    hostile_tls.put("models/big", SIZE)
    rig = await start(server=hostile_tls, rules=(Source(prefix="s3://", endpoint=hostile_tls.url),))
    view = await rig.refused("s3://models/big")
    assert view.reason is Code.SOURCE_UNAVAILABLE
    assert "ca_file" in view.hint
