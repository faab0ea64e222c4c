from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cached import codec
from cached.types import Digest, Level, ModelName, TreeId, Uri

HEX = "0123456789abcdef" * 4


@pytest.mark.parametrize("text", ["", HEX[:-1], HEX + "0", HEX.upper(), "g" + HEX[1:], HEX + "\n", " " + HEX[1:]])
def test_only_64_lower_case_hex_characters_are_a_digest(text: str) -> None:
    with pytest.raises(ValueError, match="64 lower-case hexadecimal"):
        Digest(text)


def test_a_digest_travels_as_plain_json() -> None:
    assert codec.encode(Digest(HEX)) == f'"{HEX}"'.encode()
    assert codec.decode(f'"{HEX}"', Digest) == Digest(HEX)


def test_a_tree_is_short_for_people() -> None:
    assert TreeId(HEX).short == "0123456789ab"


@pytest.mark.parametrize("text", ["a", "llama-3.1_70b", "a" * 200, "0", "team.model", "a..b", "a--b"])
def test_a_model_name_is_lower_case_words(text: str) -> None:
    assert ModelName(text) == text


@pytest.mark.parametrize(
    "text", ["", "A", "a" * 201, ".a", "a.", "-a", "a-", "a/b", "a b", "a@b", "a\n", "é", "..", "a\0"]
)
def test_what_cannot_be_a_file_below_models_is_no_model_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not a model name"):
        ModelName(text)


@given(st.text(max_size=30))
def test_a_model_name_is_always_one_safe_file_name(text: str) -> None:
    try:
        name = ModelName(text)
    except ValueError:
        return
    assert "/" not in name
    assert not name.startswith(".")
    assert "@" not in name  # which marks a version in models/


@pytest.mark.parametrize(
    ("text", "scheme", "rest"),
    [
        ("s3://bucket/key", "s3", "bucket/key"),
        ("S3://Bucket/Key", "s3", "Bucket/Key"),
        ("file:///srv/models", "file", "/srv/models"),
        ("s3://b/a#b?c%20d+e é", "s3", "b/a#b?c%20d+e é"),
        ("https://host/a//b", "https", "host/a//b"),
        ("s3://b/line\nbreak", "s3", "b/line\nbreak"),
    ],
)
def test_a_uri_is_a_scheme_and_a_literal_rest(text: str, scheme: str, rest: str) -> None:
    assert (Uri(text).scheme, Uri(text).rest) == (scheme, rest)


@pytest.mark.parametrize("text", ["", "bucket/key", "s3:/b", "://b", "s3://", "3s://b", "s3 ://b", "s3:b"])
def test_text_without_a_scheme_is_no_uri(text: str) -> None:
    with pytest.raises(ValueError, match="is not a URI"):
        Uri(text)


@pytest.mark.parametrize("text", ["s3://b/\0", "s3://b/" + "x" * 4096, "s3://b/" + "é" * 2048])
def test_a_uri_has_no_nul_and_a_bounded_length_in_bytes(text: str) -> None:
    with pytest.raises(ValueError, match="4096 bytes"):
        Uri(text)


def test_levels_are_ranked_from_the_strongest() -> None:
    ranks = [Level.DIGEST.rank, Level.CHECKSUM.rank, Level.ALIAS.rank, Level.SIZE.rank]
    assert ranks == [0, 1, 2, 3]
