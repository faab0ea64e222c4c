"""A `.safetensors` file proves by its own header that it is whole: pointers and truncated shards are refused, even
where the source itself holds them (transformers#27923, llama.cpp#6733).
"""

from __future__ import annotations

import json

from cached.errors import Code
from cached.types import State
from tests.helpers.rig import Rig

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"


def safetensors(payload: bytes, *, claimed: int) -> bytes:
    header = json.dumps({"weight": {"dtype": "U8", "shape": [claimed], "data_offsets": [0, claimed]}}).encode()
    return len(header).to_bytes(8, "little") + header + payload


async def test_whole_weights_are_taken(rig: Rig) -> None:
    data = safetensors(bytes(100), claimed=100)
    rig.server.put("bkt/m/model.safetensors", data)
    assert await rig.ready("s3://bkt/m") == {"model.safetensors": data}


async def test_a_git_lfs_pointer_is_not_weights(rig: Rig) -> None:
    """transformers#27923: the pointer's text was loaded as a header and blamed on the library."""
    rig.server.put("bkt/m/model.safetensors", POINTER)
    view = await rig.refused("s3://bkt/m")
    assert view.reason is Code.DIGEST_MISMATCH
    assert "git-lfs" in view.message.lower()


async def test_a_shard_that_is_truncated_at_its_source_is_refused(rig: Rig) -> None:
    """llama.cpp#6733."""
    rig.server.put("bkt/m/model.safetensors", safetensors(bytes(60), claimed=100))
    view = await rig.refused("s3://bkt/m")
    assert view.reason is Code.DIGEST_MISMATCH
    assert "model.safetensors" in view.message


async def test_bytes_that_are_here_under_another_name_are_held_to_the_new_one(rig: Rig) -> None:
    rig.server.put("bkt/any/a.bin", POINTER)
    await rig.ready("s3://bkt/any")
    rig.server.put("bkt/m/model.safetensors", POINTER)
    view = await rig.prefetch("s3://bkt/m")
    assert (view.state, view.reason) == (State.FAILED, Code.DIGEST_MISMATCH)


async def test_twins_are_held_to_their_names_too(rig: Rig) -> None:
    rig.server.put("bkt/m/a.bin", POINTER)
    rig.server.put("bkt/m/z.safetensors", POINTER)
    assert (await rig.refused("s3://bkt/m")).reason is Code.DIGEST_MISMATCH
