"""Real servers, started once a session, and a source for each test."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import boto3
import pytest
import pytest_asyncio
from botocore.config import Config as BotoConfig
from mypy_boto3_s3 import S3Client

from cached.config import Source
from cached.sources.registry import Sources
from tests.contract.sources.places import FilePlace, HostileS3Place, Place, S3File, S3Place, WebPlace, settings
from tests.helpers.hostile import Hostile
from tests.helpers.moto_server import Moto, moto_server
from tests.helpers.seaweed import Keys, Seaweed, seaweed

KEYS = Keys("AKIDCONTRACT", "contract-secret")
BUCKET = "contract"
VERSIONED = "versioned"


@pytest.fixture(autouse=True)
def own_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The servers' keys, and nothing of the machine's own settings."""
    for name in (
        "PROFILE",
        "SESSION_TOKEN",
        "ENDPOINT_URL",
        "ENDPOINT_URL_S3",
        "CA_BUNDLE",
        "REGION",
        "DEFAULT_REGION",
    ):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS.access)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS.secret)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "aws-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@contextlib.contextmanager
def uploader(endpoint: str) -> Iterator[S3Client]:
    """A client for putting files there, as any tool would."""
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=KEYS.access,
        aws_secret_access_key=KEYS.secret,
        region_name="us-east-1",
        config=BotoConfig(s3={"addressing_style": "path"}, request_checksum_calculation="when_required"),
    )
    with contextlib.closing(client):
        yield client


@pytest.fixture(scope="session")
def weed() -> Iterator[Seaweed]:
    """SeaweedFS that checks signatures."""
    with seaweed(keys=KEYS) as server:
        yield server


@pytest.fixture(scope="session")
def weed_s3(weed: Seaweed) -> Iterator[S3Client]:
    with uploader(weed.endpoint) as client:
        client.create_bucket(Bucket=BUCKET)
        yield client


@pytest.fixture(scope="session")
def moto() -> Iterator[Moto]:
    with moto_server() as server:
        yield server


@pytest.fixture(scope="session")
def moto_s3(moto: Moto) -> Iterator[S3Client]:
    with uploader(moto.endpoint) as client:
        for bucket in (BUCKET, VERSIONED):
            client.create_bucket(Bucket=bucket)
        client.put_bucket_versioning(Bucket=VERSIONED, VersioningConfiguration={"Status": "Enabled"})
        yield client


@pytest.fixture
def on_weed(weed: Seaweed, weed_s3: S3Client) -> S3Place:
    """A folder of its own on SeaweedFS."""
    return S3Place(weed_s3, BUCKET, Source(prefix="s3://", endpoint=weed.endpoint))


@pytest.fixture
def on_moto(moto: Moto, moto_s3: S3Client) -> S3Place:
    """A folder of its own on moto."""
    return S3Place(moto_s3, BUCKET, Source(prefix="s3://", endpoint=moto.endpoint))


@pytest.fixture
def versioned_file(moto: Moto, moto_s3: S3Client) -> S3File:
    """An object of its own in a bucket that keeps versions."""
    return S3File(moto_s3, VERSIONED, Source(prefix="s3://", endpoint=moto.endpoint))


@pytest.fixture
def versioned_folder(moto: Moto, moto_s3: S3Client) -> S3Place:
    return S3Place(moto_s3, VERSIONED, Source(prefix="s3://", endpoint=moto.endpoint))


@pytest.fixture
def on_hostile(hostile: Hostile) -> HostileS3Place:
    return HostileS3Place(hostile)


@pytest.fixture
def on_hostile_tls(hostile_tls: Hostile) -> HostileS3Place:
    return HostileS3Place(hostile_tls)


@pytest.fixture
def on_http(hostile: Hostile) -> WebPlace:
    return WebPlace(hostile, etag='"v{}"')


@pytest.fixture
def on_https(hostile_tls: Hostile) -> WebPlace:
    return WebPlace(hostile_tls, etag='"v{}"')


@pytest.fixture
def on_http_weak(hostile: Hostile) -> WebPlace:
    return WebPlace(hostile, etag='W/"v{}"')


@pytest.fixture
def on_disk(tmp_path: Path) -> FilePlace:
    return FilePlace(tmp_path / "srv")


PLACES = (
    "on_weed",
    "on_moto",
    "versioned_file",
    "versioned_folder",
    "on_hostile",
    "on_hostile_tls",
    "on_http",
    "on_https",
    "on_http_weak",
    "on_disk",
)


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Place:
    """Every kind of place in turn, with its files in it."""
    found: Place = request.getfixturevalue(request.param)
    for path, data in found.files.items():
        found.put(path, data)
    return found


Open = Callable[..., Sources]


@pytest_asyncio.fixture
async def open_sources() -> AsyncIterator[Open]:
    """Sources for some rules; closed after the test."""
    opened: list[Sources] = []

    def begin(*rules: Source) -> Sources:
        opened.append(Sources(settings(*rules)))
        return opened[-1]

    yield begin
    for each in opened:
        await each.close()


@pytest.fixture
def sources(place: Place, open_sources: Open) -> Sources:
    """Sources with the rule of `place`."""
    return open_sources(place.rule)
