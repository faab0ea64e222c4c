"""What may be held against bytes, and what must not be.

Composite checksums: botocore#3346. ETags under SSE-KMS: net-amazon-s3#109. Stored compression: rclone#2658,
nodejs-storage#709. A damaged part, and promises that do not hold, are found by whatever was promised.
"""

from __future__ import annotations

import gzip

import pytest

from cached.errors import Code
from cached.types import Level, State
from tests.helpers.hostile import Literal, Synthetic, digest
from tests.helpers.hostile.faults import Flip
from tests.helpers.rig import PART, Rig

SIZE = 4 * PART
DATA = Synthetic(SIZE, "bkt/big")
SOME_MD5 = '"00112233445566778899aabbccddeeff"'


async def test_a_composite_checksum_is_not_held_against_the_bytes(rig: Rig) -> None:
    """botocore#3346: response validation failed good ranged reads."""
    rig.server.put(
        "bkt/big", SIZE, etag='"00112233445566778899aabbccddeeff-3"', checksum=("crc32c", "AAAAAA==-3"),
        checksum_type="COMPOSITE",
    )  # fmt: skip
    view = await rig.prefetch("s3://bkt/big")
    assert (view.state, rig.level(view, "big")) == (State.READY, Level.SIZE)


@pytest.mark.parametrize("size", [100, SIZE])
async def test_an_etag_under_kms_is_not_taken_for_an_md5(rig: Rig, size: int) -> None:
    """net-amazon-s3#109. A small object is known to be encrypted only once its answer says so."""
    rig.server.put("bkt/big", size, etag=SOME_MD5, sse="aws:kms")
    view = await rig.prefetch("s3://bkt/big")
    assert (view.state, rig.level(view, "big")) == (State.READY, Level.SIZE)


@pytest.mark.parametrize("checksum", ["crc64nvme", "crc32c", "crc32"])
async def test_a_full_checksum_proves_the_bytes(rig: Rig, checksum: str) -> None:
    rig.server.put("bkt/big", SIZE, etag='"00112233445566778899aabbccddeeff-3"', checksum=checksum)
    view = await rig.prefetch("s3://bkt/big")
    assert (view.state, rig.level(view, "big")) == (State.READY, Level.CHECKSUM)


@pytest.mark.parametrize("checksum", ["crc64nvme", "crc32c", None])
async def test_one_flipped_bit_is_found_and_fetched_again(rig: Rig, checksum: str | None) -> None:
    rig.server.put("bkt/big", SIZE, checksum=checksum)
    rig.server.misbehave("bkt/big", Flip(at=SIZE // 2 + 5), times=4)
    assert await rig.ready("s3://bkt/big") == {"big": DATA.read(0, SIZE)}
    assert rig.server.payload > SIZE


async def test_bytes_that_stay_wrong_are_never_published(rig: Rig) -> None:
    rig.server.put("bkt/big", SIZE)
    rig.server.misbehave("bkt/big", Flip(at=5), times=None)
    view = await rig.refused("s3://bkt/big")
    assert view.reason is Code.DIGEST_MISMATCH


async def test_a_wrong_promise_of_the_source_refuses_the_file(rig: Rig) -> None:
    rig.server.put("bkt/big", SIZE, checksum=("crc32c", "AAAAAA=="))
    assert (await rig.refused("s3://bkt/big")).reason is Code.DIGEST_MISMATCH


async def test_the_users_own_sha256_decides(rig: Rig) -> None:
    rig.server.put("bkt/m/big", SIZE)
    good = await rig.prefetch("s3://bkt/m", name="good", sha256={"big": digest(Synthetic(SIZE, "bkt/m/big"))})
    assert (good.state, rig.level(good, "big")) == (State.READY, Level.DIGEST)


async def test_another_sha256_than_the_users_fails(rig: Rig) -> None:
    rig.server.put("bkt/m/big", SIZE)
    assert (await rig.refused("s3://bkt/m", sha256={"big": "0" * 64})).reason is Code.DIGEST_MISMATCH


@pytest.mark.parametrize("size", [1000, SIZE])
async def test_an_object_stored_compressed_keeps_its_stored_bytes(rig: Rig, size: int) -> None:
    """rclone#2658, nodejs-storage#709: the client unpacked it, and size and checksum no longer held."""
    stored = Literal(gzip.compress(Synthetic(size, "plain").read(0, size), mtime=0))
    rig.server.put("bkt/m/vocab.json", stored, content_encoding="gzip")
    assert await rig.ready("s3://bkt/m") == {"vocab.json": stored.data}
