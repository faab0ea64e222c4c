"""What S3 says about an object, as real servers say it: versions, checksums, encryption, archives."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib

import pytest
from mypy_boto3_s3.type_defs import CompletedPartTypeDef

from cached import blocking
from cached.errors import Unsupported
from cached.sources.base import Entry, Listing, Source
from cached.sources.registry import Sources
from cached.types import Uri
from tests.contract.sources.conftest import VERSIONED, Open
from tests.contract.sources.places import PART, WEIGHTS, S3File, S3Place
from tests.contract.sources.wire import fetch

MD5 = hashlib.md5(WEIGHTS, usedforsecurity=False).hexdigest()
CRC32 = base64.b64encode(zlib.crc32(WEIGHTS).to_bytes(4, "big")).decode()
SMALL = b"small"
UPLOAD_PART = 5 << 20
"""The least that S3 takes as a part of an upload but the last."""


async def only(sources: Sources, place: S3Place) -> tuple[Source, Listing, Entry]:
    source, listing = await sources.resolve(place.uri())
    (entry,) = listing.entries
    return source, listing, entry


async def confirmed(source: Source, listing: Listing, entry: Entry) -> Entry:
    request = await blocking.run(source.request, listing, entry)
    return source.confirm(entry, (await blocking.run(fetch, request, entry)).headers)


def upload_in_two(place: S3Place, path: str, data: bytes) -> None:
    """A multipart upload: its ETag is not the MD5 of the content."""
    s3, bucket, key = place.client, place.bucket, f"{place.folder}/{path}"
    upload = s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
    parts: list[CompletedPartTypeDef] = []
    for number, piece in enumerate((data[:UPLOAD_PART], data[UPLOAD_PART:]), start=1):
        done = s3.upload_part(Bucket=bucket, Key=key, UploadId=upload, PartNumber=number, Body=piece)
        parts.append({"PartNumber": number, "ETag": done["ETag"]})
    s3.complete_multipart_upload(Bucket=bucket, Key=key, UploadId=upload, MultipartUpload={"Parts": parts})


async def test_an_upload_in_one_piece_promises_its_md5(on_weed: S3Place, open_sources: Open) -> None:
    on_weed.put("weights", WEIGHTS)
    _, _, entry = await only(open_sources(on_weed.rule), on_weed)
    assert (entry.md5, entry.alias) == (MD5, ("etag", f'"{MD5}"'))


@pytest.mark.parametrize("server", ["on_weed", "on_moto"])
async def test_an_upload_in_parts_promises_no_md5_and_still_has_an_alias(
    request: pytest.FixtureRequest, open_sources: Open, server: str
) -> None:
    place: S3Place = request.getfixturevalue(server)
    upload_in_two(place, "weights", bytes(UPLOAD_PART) + b"end")
    source, listing, entry = await only(open_sources(place.rule), place)
    assert (entry.md5, entry.checksum, entry.pin.etag is not None) == (None, None, True)
    assert entry.alias == ("etag", entry.pin.etag)
    assert await confirmed(source, listing, entry) == entry


async def test_a_big_objects_checksum_comes_from_its_head(on_moto: S3Place, open_sources: Open) -> None:
    key = f"{on_moto.folder}/weights"
    on_moto.client.put_object(Bucket=on_moto.bucket, Key=key, Body=WEIGHTS, ChecksumAlgorithm="CRC32")
    _, _, entry = await only(open_sources(on_moto.rule), on_moto)
    assert (entry.checksum, entry.md5) == (("crc32", CRC32), None)


async def test_a_small_objects_checksum_comes_from_its_own_answer(on_moto: S3Place, open_sources: Open) -> None:
    key = f"{on_moto.folder}/small"
    on_moto.client.put_object(Bucket=on_moto.bucket, Key=key, Body=SMALL, ChecksumAlgorithm="CRC32")
    source, listing, entry = await only(open_sources(on_moto.rule), on_moto)
    value = base64.b64encode(zlib.crc32(SMALL).to_bytes(4, "big")).decode()
    assert entry.checksum is None
    assert (await confirmed(source, listing, entry)).checksum == ("crc32", value)


async def test_a_sha256_that_the_store_keeps_becomes_the_expected_digest(on_moto: S3Place, open_sources: Open) -> None:
    key = f"{on_moto.folder}/weights"
    on_moto.client.put_object(Bucket=on_moto.bucket, Key=key, Body=WEIGHTS, ChecksumAlgorithm="SHA256")
    _, _, entry = await only(open_sources(on_moto.rule), on_moto)
    assert entry.sha256 == hashlib.sha256(WEIGHTS).hexdigest()


@pytest.mark.parametrize("size", [10, 2 * PART], ids=["listed", "asked for"])
async def test_an_etag_under_kms_is_neither_an_md5_nor_an_identity(
    on_moto: S3Place, open_sources: Open, size: int
) -> None:
    key = f"{on_moto.folder}/weights"
    on_moto.client.put_object(
        Bucket=on_moto.bucket, Key=key, Body=bytes(size), ServerSideEncryption="aws:kms", ChecksumAlgorithm="CRC32"
    )
    source, listing, entry = await only(open_sources(on_moto.rule), on_moto)
    after = await confirmed(source, listing, entry)
    assert (after.md5, after.alias) == (None, None)


@pytest.mark.parametrize("storage", ["GLACIER", "DEEP_ARCHIVE"])
@pytest.mark.parametrize("uri", ["folder", "object"])
async def test_an_archived_object_is_refused_by_name_before_any_get(
    on_moto: S3Place, open_sources: Open, storage: str, uri: str
) -> None:
    """aws-cli#2385."""
    on_moto.put("config.json", b"{}")
    key = f"{on_moto.folder}/old"
    on_moto.client.put_object(Bucket=on_moto.bucket, Key=key, Body=SMALL, StorageClass=storage)  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match=storage) as caught:
        await open_sources(on_moto.rule).resolve(on_moto.uri() if uri == "folder" else on_moto.uri(key))
    assert key in caught.value.message
    assert "restore" in caught.value.hint


async def test_a_restored_object_is_read(on_moto: S3Place, open_sources: Open) -> None:
    key = f"{on_moto.folder}/old"
    on_moto.client.put_object(Bucket=on_moto.bucket, Key=key, Body=SMALL, StorageClass="GLACIER")
    on_moto.client.restore_object(Bucket=on_moto.bucket, Key=key, RestoreRequest={"Days": 1})
    _, _, entry = await only(open_sources(on_moto.rule), on_moto)
    assert entry.size == len(SMALL)


async def test_glacier_instant_retrieval_needs_no_restore(on_moto: S3Place, open_sources: Open) -> None:
    key = f"{on_moto.folder}/weights"
    on_moto.client.put_object(Bucket=on_moto.bucket, Key=key, Body=SMALL, StorageClass="GLACIER_IR")
    _, _, entry = await only(open_sources(on_moto.rule), on_moto)
    assert entry.size == len(SMALL)


async def test_a_version_once_pinned_is_fetched_though_it_was_replaced(
    versioned_file: S3File, open_sources: Open
) -> None:
    versioned_file.put("weights.safetensors", WEIGHTS)
    source, listing, entry = await only(open_sources(versioned_file.rule), versioned_file)
    versioned_file.put("weights.safetensors", WEIGHTS[::-1])
    request = await blocking.run(source.request, listing, entry)
    assert entry.pin.version is not None
    assert (await blocking.run(fetch, request, entry)).body == WEIGHTS


async def test_a_deleted_object_of_a_versioned_bucket_is_not_found_in_its_folder(
    versioned_folder: S3Place, open_sources: Open
) -> None:
    versioned_folder.put("kept", b"kept")
    versioned_folder.put("gone", b"gone")
    versioned_folder.client.delete_object(Bucket=VERSIONED, Key=f"{versioned_folder.folder}/gone")
    _, listing = await open_sources(versioned_folder.rule).resolve(versioned_folder.uri())
    assert [entry.path for entry in listing.entries] == ["kept"]


async def test_folder_markers_are_no_files_and_empty_files_are(on_moto: S3Place, open_sources: Open) -> None:
    """kserve#379: a marker became a file of the folder's name."""
    for key in ("", "sub/", "sub/__init__.py"):
        on_moto.put(key, b"")
    _, listing = await open_sources(on_moto.rule).resolve(on_moto.uri())
    assert [entry.path for entry in listing.entries] == ["sub/__init__.py"]


async def test_an_object_wins_over_a_folder_of_its_name_and_says_so(on_moto: S3Place, open_sources: Open) -> None:
    on_moto.put("m", b"object")
    on_moto.put("m/x", b"folder")
    sources = open_sources(on_moto.rule)
    _, object_ = await sources.resolve(on_moto.uri(f"{on_moto.folder}/m"))
    _, folder = await sources.resolve(on_moto.uri(f"{on_moto.folder}/m/"))
    assert [[entry.path for entry in each.entries] for each in (object_, folder)] == [["m"], ["x"]]
    assert "both an object" in object_.notes[0]
    assert folder.notes == ()


async def test_a_whole_bucket_is_a_model_too(on_moto: S3Place, open_sources: Open) -> None:
    on_moto.client.create_bucket(Bucket=on_moto.folder)
    on_moto.client.put_object(Bucket=on_moto.folder, Key="config.json", Body=json.dumps({}))
    for uri in (Uri(f"s3://{on_moto.folder}"), Uri(f"s3://{on_moto.folder}/")):
        _, listing = await open_sources(on_moto.rule).resolve(uri)
        assert [entry.path for entry in listing.entries] == ["config.json"]
