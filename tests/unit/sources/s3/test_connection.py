"""Addresses and regions by AWS's own rules. No request leaves the process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HTTPHeaders

from cached import config
from cached.config import Timeouts
from cached.sources.s3.connection import Connection, Connections


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PROFILE", "ENDPOINT_URL", "CA_BUNDLE", "REGION", "DEFAULT_REGION", "SESSION_TOKEN"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws-config"))


@pytest.fixture
def made() -> Iterator[list[Connections]]:
    found: list[Connections] = []
    yield found
    for each in found:
        each.close()


def place_of(made: list[Connections], bucket: str, **rule: str) -> tuple[str, str]:
    """(address, signing region) of a bucket under a rule, as a listing teaches them."""
    made.append(Connections(config.Source(prefix="s3://", **rule), Timeouts()))
    connection = made[-1].get(bucket)
    answered = connection.client.meta.events.register
    answered("before-send.s3.ListObjectsV2", an_empty_listing)  # type: ignore[arg-type]  # the stubs want no answer
    connection.client.list_objects_v2(Bucket=bucket, Prefix="m/ +")
    return place(connection)


def place(connection: Connection) -> tuple[str, str]:
    address, region = connection.address()
    return address.origin + address.base, region


class Body:
    """What botocore wants of an answer's body."""

    def stream(self) -> Iterator[bytes]:
        yield b"<ListBucketResult/>"


def an_empty_listing(request: AWSPreparedRequest, **_: object) -> AWSResponse:
    """In place of sending."""
    return AWSResponse(request.url, 200, HTTPHeaders(), Body())


@pytest.mark.parametrize(
    ("bucket", "rule", "expected"),
    [
        ("models", {}, ("https://models.s3.amazonaws.com", "us-east-1")),
        ("models", {"region": "eu-central-1"}, ("https://models.s3.eu-central-1.amazonaws.com", "eu-central-1")),
        ("my.models", {"region": "eu-central-1"}, ("https://s3.eu-central-1.amazonaws.com/my.models", "eu-central-1")),
        ("models", {"endpoint": "http://10.0.0.1:9000"}, ("http://10.0.0.1:9000/models", "us-east-1")),
    ],
    ids=["aws", "region", "dots", "endpoint"],
)
def test_a_bucket_is_addressed_as_aws_tools_do(
    made: list[Connections], bucket: str, rule: dict[str, str], expected: tuple[str, str]
) -> None:
    """aws-cli#851: a dotted bucket fits no wildcard certificate, so it stands in the path."""
    assert place_of(made, bucket, **rule) == expected


def test_one_bucket_has_one_connection(made: list[Connections]) -> None:
    place_of(made, "models")
    assert made[0].get("models") is made[0].get("models")


def test_many_who_were_refused_renew_once(made: list[Connections]) -> None:
    place_of(made, "models")
    refused = made[0].get("models")
    renewed = made[0].renew(refused)
    assert renewed is not refused
    assert made[0].renew(refused) is renewed


def test_a_renewed_connection_knows_the_address_already(made: list[Connections]) -> None:
    before = place_of(made, "models", region="eu-central-1")
    assert place(made[0].renewed("models")) == before
