from __future__ import annotations

import base64

import pytest

from cached.errors import SourceChanged
from cached.sources.base import Entry
from cached.sources.s3 import evidence

MD5 = "0123456789abcdef0123456789abcdef"
CRC32, CRC64, SHA256 = (base64.b64encode(bytes(length)).decode() for length in (4, 8, 32))
ANSWER = {"etag": f'"{MD5}"', "content-length": "10"}


def listed(etag: str = f'"{MD5}"') -> Entry:
    return evidence.listed("a", "m/a", size=10, etag=etag)


def confirmed(**headers: str) -> Entry:
    """What a payload answer with these headers (`_` for `-`) makes of a listed file."""
    return evidence.confirmed(listed(), {name.replace("_", "-"): value for name, value in headers.items()})


def test_a_listing_pins_by_etag_and_key() -> None:
    pin = listed().pin
    assert (pin.etag, pin.version, pin.validator) == (f'"{MD5}"', None, f'etag "{MD5}" m/a')


def test_two_objects_of_equal_content_have_two_pins_and_one_alias() -> None:
    one, two = (evidence.listed("a", key, size=10, etag=f'"{MD5}"') for key in ("m/a", "m2/a"))
    assert one.pin.validator != two.pin.validator
    assert one.alias == two.alias


def test_a_plain_etag_is_an_md5() -> None:
    assert listed().md5 == MD5


@pytest.mark.parametrize("etag", [f'"{MD5}-3"', '"abc"', f'"{MD5.upper()}"', f'W/"{MD5}"', f'"{MD5}0"'])
def test_any_other_etag_is_not(etag: str) -> None:
    assert listed(etag).md5 is None


def test_quotes_that_a_server_forgets_are_put_back() -> None:
    assert listed(MD5) == listed(f'"{MD5}"')


@pytest.mark.parametrize(("version", "pinned"), [("v1", "v1"), ("null", None), ("", None)])
def test_a_version_id_pins_where_there_is_one(version: str, pinned: str | None) -> None:
    entry = evidence.pinned("a", "m/a", ANSWER | {"x-amz-version-id": version})
    assert entry.pin.version == pinned
    assert entry.pin.validator == ("version v1 m/a" if pinned else f'etag "{MD5}" m/a')


@pytest.mark.parametrize("missing", ["etag", "content-length"])
def test_without_etag_or_length_nothing_is_pinned(missing: str) -> None:
    with pytest.raises(KeyError):
        evidence.pinned("a", "m/a", {name: value for name, value in ANSWER.items() if name != missing})


@pytest.mark.parametrize(("algorithm", "value"), [("crc32", CRC32), ("crc32c", CRC32), ("crc64nvme", CRC64)])
@pytest.mark.parametrize("kind", [{"x_amz_checksum_type": "FULL_OBJECT"}, {}], ids=["typed", "untyped"])
def test_a_checksum_of_the_whole_is_kept_and_spares_the_md5(algorithm: str, value: str, kind: dict[str, str]) -> None:
    entry = confirmed(**{f"x_amz_checksum_{algorithm}": value}, **kind)
    assert (entry.checksum, entry.md5) == ((algorithm, value), None)


def test_the_strongest_of_several_checksums_is_kept() -> None:
    entry = confirmed(x_amz_checksum_crc32=CRC32, x_amz_checksum_crc64nvme=CRC64)
    assert entry.checksum == ("crc64nvme", CRC64)


@pytest.mark.parametrize(
    "headers",
    [
        {"x_amz_checksum_crc32": CRC32, "x_amz_checksum_type": "COMPOSITE"},
        {"x_amz_checksum_crc32": f"{CRC32}-3"},
        {"x_amz_checksum_crc32": "not base64"},
        {"x_amz_checksum_crc32": CRC64},
        {"x_amz_checksum_sha1": SHA256},
        {"x_amz_checksum_crc32": CRC32, "content_range": "bytes 0-3/10"},
    ],
    ids=["composite", "suffix", "text", "length", "unknown", "of a part"],
)
def test_a_checksum_of_anything_else_is_ignored(headers: dict[str, str]) -> None:
    """botocore#3346: composite checksums failed good data."""
    assert confirmed(**headers) == listed()


def test_a_ranged_answer_of_everything_speaks_for_the_whole() -> None:
    entry = confirmed(x_amz_checksum_crc32=CRC32, content_range="bytes 0-9/10")
    assert entry.checksum == ("crc32", CRC32)


def test_a_sha256_of_the_whole_is_a_promised_digest() -> None:
    assert confirmed(x_amz_checksum_sha256=SHA256).sha256 == "0" * 64


@pytest.mark.parametrize(
    "headers",
    [
        {"x_amz_server_side_encryption": "aws:kms"},
        {"x_amz_server_side_encryption": "aws:kms:dsse"},
        {"x_amz_server_side_encryption_customer_algorithm": "AES256"},
    ],
    ids=lambda headers: "-".join(headers.values()),
)
@pytest.mark.parametrize("span", ["", "bytes 0-3/10"])
def test_under_such_encryption_an_etag_proves_nothing(headers: dict[str, str], span: str) -> None:
    """net-amazon-s3#109."""
    entry = confirmed(**headers, content_range=span)
    assert (entry.md5, entry.alias) == (None, None)


def test_under_s3s_own_encryption_an_etag_is_still_an_md5() -> None:
    assert confirmed(x_amz_server_side_encryption="AES256").md5 == MD5


def test_another_etag_is_a_change() -> None:
    with pytest.raises(SourceChanged, match="a was replaced"):
        confirmed(etag='"other"')


def test_an_etag_without_its_quotes_is_no_change() -> None:
    assert confirmed(etag=MD5) == listed()


def test_another_version_is_a_change_though_the_content_is_the_same() -> None:
    entry = evidence.pinned("a", "m/a", ANSWER | {"x-amz-version-id": "v1"})
    with pytest.raises(SourceChanged):
        evidence.confirmed(entry, ANSWER | {"x-amz-version-id": "v2"})


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({}, None),
        ({"x-amz-storage-class": "STANDARD_IA"}, None),
        ({"x-amz-storage-class": "GLACIER_IR"}, None),
        ({"x-amz-storage-class": "GLACIER"}, "its storage class is GLACIER"),
        ({"x-amz-storage-class": "DEEP_ARCHIVE"}, "its storage class is DEEP_ARCHIVE"),
        (
            {"x-amz-storage-class": "INTELLIGENT_TIERING", "x-amz-archive-status": "ARCHIVE_ACCESS"},
            "its storage class is ARCHIVE_ACCESS",
        ),
        (
            {"x-amz-storage-class": "GLACIER", "x-amz-restore": 'ongoing-request="true"'},
            "it is being restored from GLACIER",
        ),
        ({"x-amz-storage-class": "GLACIER", "x-amz-restore": 'ongoing-request="false", expiry-date="..."'}, None),
    ],
)
def test_archived_objects_are_told_from_those_that_can_be_read(headers: dict[str, str], why: str | None) -> None:
    """aws-cli#2385."""
    assert evidence.archived(headers) == why
