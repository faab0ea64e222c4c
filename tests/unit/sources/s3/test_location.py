from __future__ import annotations

import pytest

from cached.errors import Permanent, Unsupported
from cached.sources.s3.location import KEY_MAX, Location, parse
from cached.types import Uri


@pytest.mark.parametrize(
    ("uri", "bucket", "key", "folder", "may_be_object"),
    [
        ("s3://bkt", "bkt", "", "", False),
        ("s3://bkt/", "bkt", "", "", False),
        ("s3://bkt/m", "bkt", "m", "m/", True),
        ("s3://bkt/m/", "bkt", "m/", "m/", False),
        ("s3://bkt//m", "bkt", "/m", "/m/", True),
        ("s3://bkt/m//", "bkt", "m//", "m//", False),
        ("s3://my.Old_bucket/m", "my.Old_bucket", "m", "m/", True),
    ],
)
def test_a_path_is_an_object_or_the_folder_of_that_name(
    uri: str,
    bucket: str,
    key: str,
    folder: str,
    may_be_object: bool,  # noqa: FBT001
) -> None:
    found = parse(Uri(uri))
    assert found == Location(bucket, key)
    assert (found.folder, found.may_be_object) == (folder, may_be_object)


@pytest.mark.parametrize("key", ["a b", "a+b", "a%20b", "a#b", "a?versionId=1", "a\nb", "./a", "a/../b", "cafe\u0301"])
def test_a_key_is_literal(key: str) -> None:
    assert parse(Uri(f"s3://bkt/{key}")).key == key


def test_the_name_of_an_object_is_what_follows_the_last_slash() -> None:
    assert parse(Uri("s3://bkt/a/b c.bin")).name == "b c.bin"


def test_a_location_reads_as_its_uri() -> None:
    assert str(parse(Uri("S3://bkt/a%20b"))) == "s3://bkt/a%20b"


@pytest.mark.parametrize("bucket", ["a", "-ab", "ab-", "a b", "a@b.example", "é" * 3, "a:80", ".."])
def test_what_cannot_be_a_bucket_is_refused(bucket: str) -> None:
    with pytest.raises(Permanent, match="is not a bucket name"):
        parse(Uri(f"s3://{bucket}/m"))


def test_a_directory_bucket_is_refused_with_its_reason() -> None:
    with pytest.raises(Unsupported, match="directory bucket"):
        parse(Uri("s3://models--use1-az4--x-s3/m"))


def test_a_key_has_at_most_1024_bytes() -> None:
    assert parse(Uri(f"s3://bkt/{'é' * (KEY_MAX // 2)}")).key
    with pytest.raises(Permanent, match="1026 bytes"):
        parse(Uri(f"s3://bkt/{'é' * (KEY_MAX // 2 + 1)}"))


def test_a_path_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(Permanent, match="not valid Unicode"):
        parse(Uri("s3://bkt/\udcff"))
