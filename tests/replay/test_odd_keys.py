"""Keys are literal: each is fetched exactly and keeps its name (boto3#2001, minio#6706)."""

from __future__ import annotations

import pytest

from tests.helpers.rig import Rig

NFC, NFD = "caf\u00e9", "cafe\u0301"
ODD = [
    "a b",
    "a+b",
    "a%20b",
    "a%2Fb",
    "a#b",
    "a?b",
    "a?versionId=1",
    "a&b=c",
    "a\nb",
    "~tilde",
    "[x]*",
    NFC,
    NFD,
    "模型",
]


async def test_every_odd_key_of_a_folder_is_fetched_and_keeps_its_name(rig: Rig) -> None:
    for key in ODD:
        rig.server.put(f"bkt/m/{key}", key.encode())
    assert await rig.ready("s3://bkt/m") == {key: key.encode() for key in ODD}


@pytest.mark.parametrize("key", ODD)
async def test_an_odd_key_is_found_by_its_own_uri(rig: Rig, key: str) -> None:
    rig.server.put(f"bkt/m/{key}", b"this one")
    rig.server.put("bkt/m/a", b"not this one")
    assert await rig.ready(f"s3://bkt/m/{key}") == {key: b"this one"}


async def test_odd_folders_are_literal_too(rig: Rig) -> None:
    rig.server.put("bkt/m+1 #?/x", b"x")
    assert await rig.ready("s3://bkt/m+1 #?") == {"x": b"x"}
