"""The server's good answers, as boto3 sees them."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from botocore.client import Config
from botocore.exceptions import ClientError
from mypy_boto3_s3 import S3Client

from tests.helpers.hostile import Hostile, Synthetic, digest


def client(server: Hostile) -> S3Client:
    config = Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1})
    return boto3.client(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="secret",
        region_name="us-east-1",
        config=config,
        verify=str(server.ca_file) if server.ca_file else None,
    )


@pytest.fixture
def s3(hostile: Hostile) -> Iterator[S3Client]:
    made = client(hostile)
    yield made
    made.close()


def keys_below(s3: S3Client, prefix: str) -> list[str]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket="models", Prefix=prefix)
    return [item["Key"] for page in pages for item in page.get("Contents", [])]


def code_of(error: pytest.ExceptionInfo[ClientError]) -> str:
    return error.value.response["Error"]["Code"]


def test_a_listing_holds_the_keys_of_its_prefix_in_byte_order(hostile: Hostile, s3: S3Client) -> None:
    for key in ("m/b", "m/a", "m-2/a", "other"):
        hostile.put(f"models/{key}", key.encode())
    assert keys_below(s3, "m") == ["m-2/a", "m/a", "m/b"]


def test_a_listing_comes_in_pages() -> None:
    with Hostile(page=2) as server:
        for number in range(5):
            server.put(f"models/{number}", b"x")
        s3 = client(server)
        assert keys_below(s3, "") == ["0", "1", "2", "3", "4"]
        assert len(server.requests) == 3
        s3.close()


def test_odd_keys_survive_the_listing_and_the_fetch(hostile: Hostile, s3: S3Client) -> None:
    odd = ["a b", "a+b", "a%20b", "a#b", "a?b", "é", "e\u0301", "a\nb", "a//b", "../up", "a&<b>"]
    for key in odd:
        hostile.put(f"models/{key}", key.encode())
    assert keys_below(s3, "") == sorted(odd, key=str.encode)
    for key in odd:
        assert s3.get_object(Bucket="models", Key=key)["Body"].read() == key.encode()


def test_head_gives_size_etag_version_and_checksum(hostile: Hostile, s3: S3Client) -> None:
    hostile.put("models/a", b"hello", version="v1", checksum="crc64nvme", sse="AES256")
    head = s3.head_object(Bucket="models", Key="a", ChecksumMode="ENABLED")
    assert head["ContentLength"] == 5
    assert head["ETag"] == '"5d41402abc4b2a76b9719d911017c592"'
    assert head["VersionId"] == "v1"
    assert head["ServerSideEncryption"] == "AES256"
    assert (head["ChecksumCRC64NVME"], head["ChecksumType"]) == ("M3eFcAZSQlc=", "FULL_OBJECT")


def test_boto3_finds_the_checksum_of_a_get_right(hostile: Hostile, s3: S3Client) -> None:
    hostile.put("models/a", 300_000, checksum="crc32c")
    body = s3.get_object(Bucket="models", Key="a", ChecksumMode="ENABLED")["Body"]
    assert body.read() == Synthetic(300_000, "models/a").read(0, 300_000)


def test_a_range_gets_its_bytes(hostile: Hostile, s3: S3Client) -> None:
    item = hostile.put("models/a", 3 << 20)
    answer = s3.get_object(Bucket="models", Key="a", Range="bytes=1048570-1048585")
    assert answer["ContentRange"] == "bytes 1048570-1048585/3145728"
    assert answer["Body"].read() == item.content.read(1_048_570, 16)


def test_a_range_of_an_empty_object_is_not_satisfiable(hostile: Hostile, s3: S3Client) -> None:
    hostile.put("models/empty", b"")
    with pytest.raises(ClientError) as caught:
        s3.get_object(Bucket="models", Key="empty", Range="bytes=0-15")
    assert code_of(caught) == "InvalidRange"


def test_if_match_holds_a_reader_to_one_version(hostile: Hostile, s3: S3Client) -> None:
    old = hostile.put("models/a", b"one")
    hostile.put("models/a", b"two")
    with pytest.raises(ClientError) as caught:
        s3.get_object(Bucket="models", Key="a", IfMatch=str(old.etag))
    assert code_of(caught) == "PreconditionFailed"


def test_older_versions_stay_readable(hostile: Hostile, s3: S3Client) -> None:
    hostile.put("models/a", b"one", version="v1")
    hostile.put("models/a", b"two", version="v2")
    assert s3.get_object(Bucket="models", Key="a", VersionId="v1")["Body"].read() == b"one"
    assert s3.get_object(Bucket="models", Key="a")["Body"].read() == b"two"


def test_what_is_missing_is_named_by_its_code(hostile: Hostile, s3: S3Client) -> None:
    hostile.shelf.add_bucket("models")
    with pytest.raises(ClientError) as no_key:
        s3.get_object(Bucket="models", Key="none")
    with pytest.raises(ClientError) as no_bucket:
        s3.list_objects_v2(Bucket="nowhere")
    assert (code_of(no_key), code_of(no_bucket)) == ("NoSuchKey", "NoSuchBucket")
    s3.head_bucket(Bucket="models")


def test_an_archived_object_has_a_head_but_no_content(hostile: Hostile, s3: S3Client) -> None:
    hostile.put("models/cold", b"ice", storage_class="GLACIER")
    assert s3.head_object(Bucket="models", Key="cold")["StorageClass"] == "GLACIER"
    with pytest.raises(ClientError) as caught:
        s3.get_object(Bucket="models", Key="cold")
    assert code_of(caught) == "InvalidObjectState"


def test_it_serves_over_tls_to_who_trusts_it(hostile_tls: Hostile) -> None:
    item = hostile_tls.put("models/a", 1 << 20)
    s3 = client(hostile_tls)
    body = s3.get_object(Bucket="models", Key="a")["Body"].read()
    assert body == item.content.read(0, 1 << 20)
    s3.close()


def test_synthetic_content_is_the_same_by_any_way_of_reading() -> None:
    content = Synthetic((2 << 20) + 17, "seed")
    whole = content.read(0, content.size)
    assert content.read(1_048_000, 2000) == whole[1_048_000 : 1_048_000 + 2000]
    assert digest(content) == digest(Synthetic(content.size, "seed"))
    assert whole[: 1 << 20] != whole[1 << 20 : 2 << 20]
