from __future__ import annotations

import base64
import hashlib

import pytest

from cached.errors import Unsupported
from cached.sources.base import Entry
from cached.sources.http.probe import Answer
from cached.sources.http.source import entry_of
from cached.sources.http.url import parse_url

URL = parse_url("https://h/f.bin?sig=1")
SHA = hashlib.sha256(b"x").digest()
SHA64 = base64.b64encode(SHA).decode()


def entry(status: int = 200, /, **headers: str) -> Entry:
    said = {"content_length": "10", "etag": '"v1"'} | headers
    return entry_of(URL, "f.bin", Answer(URL, status, {name.replace("_", "-"): text for name, text in said.items()}))


def test_a_strong_etag_pins_and_allows_ranges() -> None:
    found = entry()
    assert (found.pin.validator, found.pin.etag, found.ranges) == ('"v1"', '"v1"', True)


@pytest.mark.parametrize(
    ("etag", "modified", "validator"), [('W/"v1"', "then", 'W/"v1"'), ("", "then", "then"), ("", "", "")]
)
def test_without_a_strong_etag_there_are_no_ranges_and_no_alias(etag: str, modified: str, validator: str) -> None:
    found = entry(etag=etag, last_modified=modified)
    assert (found.pin.validator, found.pin.etag, found.ranges, found.alias) == (validator, None, False, None)


def test_ranges_that_a_server_declines_are_not_asked_for() -> None:
    assert entry(accept_ranges="none").ranges is False


def test_an_etag_names_content_only_together_with_its_url() -> None:
    assert entry().alias == ("url", 'https://h/f.bin "v1"')


@pytest.mark.parametrize(
    ("status", "headers", "size"),
    [
        (200, {}, 10),
        (206, {"content_length": "1", "content_range": "bytes 0-0/77"}, 77),
        (416, {"content_length": "0", "content_range": "bytes */0"}, 0),
    ],
)
def test_the_size_is_that_of_the_whole_file(status: int, headers: dict[str, str], size: int) -> None:
    assert entry(status, **headers).size == size


@pytest.mark.parametrize(
    ("status", "headers"),
    [(200, {"content_length": ""}), (200, {"content_length": "-1"}), (206, {"content_range": "bytes 0-0/*"})],
)
def test_without_a_length_a_file_is_refused(status: int, headers: dict[str, str]) -> None:
    with pytest.raises(Unsupported) as caught:
        entry(status, **headers)
    assert "sig=1" not in caught.value.message


@pytest.mark.parametrize(
    "headers",
    [
        {"repr_digest": f"sha-256=:{SHA64}:"},
        {"repr_digest": f"sha-512=:AAAA:, sha-256=:{SHA64}:"},
        {"digest": f"SHA-256={SHA64}"},
    ],
)
def test_a_digest_header_is_a_promise(headers: dict[str, str]) -> None:
    assert entry(200, **headers).sha256 == SHA.hex()


@pytest.mark.parametrize(
    "headers",
    [
        {"repr_digest": "sha-256=:AAAA:"},
        {"repr_digest": "sha-256=:***:"},
        {"digest": f"md5={SHA64}"},
        {"repr_digest": f"sha-256=:{SHA64}:", "content_encoding": "gzip"},
    ],
    ids=["short", "no base64", "another algorithm", "encoded"],
)
def test_a_digest_of_something_else_is_no_promise(headers: dict[str, str]) -> None:
    assert entry(200, **headers).sha256 is None
