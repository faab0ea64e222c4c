from __future__ import annotations

import pytest
from botocore.credentials import ReadOnlyCredentials

from cached.sources.base import Pin, Request
from cached.sources.s3.signing import Address, parse_address, signed_get, target

PATH_STYLE = Address("https", "s3.example", 443, "/bkt")
KEYS = ReadOnlyCredentials("AKIDEXAMPLE", "secret-key", "session-token")


def signed(credentials: ReadOnlyCredentials | None = KEYS, *, version: str | None = None) -> Request:
    return signed_get(
        PATH_STYLE,
        key="m/a b",
        pin=Pin(validator="v", etag='"e"', version=version),
        region="eu-central-1",
        credentials=credentials,
        ca_file="/ca.pem",
    )


@pytest.mark.parametrize(
    ("key", "wire"),
    [
        ("a b+c", "a%20b%2Bc"),
        ("a%20b", "a%2520b"),
        ("a#b?c&d=e", "a%23b%3Fc%26d%3De"),
        ("./a/../b//c", "./a/../b//c"),
        ("caf\u00e9", "caf%C3%A9"),
        ("cafe\u0301", "cafe%CC%81"),
        ("a\nb", "a%0Ab"),
        ("~-._", "~-._"),
    ],
)
def test_a_key_is_encoded_once_and_never_normalised(key: str, wire: str) -> None:
    assert target(PATH_STYLE, key, None) == f"/bkt/{wire}"


def test_a_version_goes_into_the_query() -> None:
    assert target(PATH_STYLE, "a", "v/1+=") == "/bkt/a?versionId=v%2F1%2B%3D"


@pytest.mark.parametrize(
    ("url", "address", "authority"),
    [
        ("https://bkt.s3.example/?list-type=2", Address("https", "bkt.s3.example", 443, ""), "bkt.s3.example"),
        ("http://127.0.0.1:8333/bkt?x=/", Address("http", "127.0.0.1", 8333, "/bkt"), "127.0.0.1:8333"),
        ("https://[::1]/bkt/", Address("https", "::1", 443, "/bkt"), "[::1]"),
        ("http://host/gateway/bkt", Address("http", "host", 80, "/gateway/bkt"), "host"),
    ],
)
def test_an_address_is_what_stands_before_the_query(url: str, address: Address, authority: str) -> None:
    assert parse_address(url) == address
    assert address.authority == authority


def test_a_signed_request_carries_pin_token_and_signature() -> None:
    headers = dict(signed().headers)
    assert headers["Host"] == "s3.example"
    assert headers["If-Match"] == '"e"'
    assert headers["x-amz-checksum-mode"] == "ENABLED"
    assert headers["X-Amz-Security-Token"] == "session-token"
    assert headers["X-Amz-Content-SHA256"] == "UNSIGNED-PAYLOAD"
    assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-central-1/s3/aws4_request" in headers["Authorization"]


def test_a_range_may_be_added_without_a_new_signature() -> None:
    assert "range" not in dict(signed().headers)["Authorization"].lower()


def test_without_credentials_nothing_is_signed() -> None:
    names = {name.lower() for name, _ in signed(None).headers}
    assert names == {"host", "x-amz-checksum-mode", "if-match"}


def test_a_request_says_where_it_goes_and_whom_it_trusts() -> None:
    request = signed(version="v1")
    assert (request.scheme, request.host, request.port) == ("https", "s3.example", 443)
    assert (request.target, request.ca_file) == ("/bkt/m/a%20b?versionId=v1", "/ca.pem")


def test_a_request_shows_no_secrets_when_printed() -> None:
    assert repr(signed(version="v1")) == "Request(https://s3.example:443/bkt/m/a%20b)"
