"""Clients, credentials and addresses, one set a bucket: what botocore knows, kept until it is refused.

Credentials come from the chain that every AWS tool walks (environment, profile, web identity, container,
instance); it is walked again when an answer says that they are stale. When it finds none, nothing is signed.
Every call here may block: use threads.
"""

from __future__ import annotations

import functools
import os
import ssl
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import botocore.session
from botocore import UNSIGNED
from botocore.config import Config as BotoConfig
from botocore.loaders import Loader, create_loader

from cached import config
from cached.errors import Permanent
from cached.sources.base import Pin, Request
from cached.sources.s3.errors import Call, mapped, opening
from cached.sources.s3.signing import Address, parse_address, signed_get

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest
    from botocore.credentials import Credentials
    from mypy_boto3_s3 import S3Client

POOL = 16
"""Connections a client keeps: as many as the threads that call it."""
TRIES = 3
"""Of one listing or HEAD call, botocore's `standard` mode: it waits 0.5-2 s on 503 and resets."""


@dataclass(slots=True)
class Connection:
    """One bucket's client, and the address that its last listing went to.

    Payload goes where listings go. Nothing else that botocore can be asked without a private call tells it: a
    presigned URL names the global endpoint, and no region that a redirect taught.
    """

    bucket: str
    client: S3Client
    credentials: Credentials | None
    ca_file: str | None
    _address: tuple[Address, str] | None = field(default=None)

    def __post_init__(self) -> None:
        self.client.meta.events.register("before-send.s3.ListObjectsV2", self._learn)

    def call(self, what: str) -> Call:
        return Call(what, self.bucket, self.client.meta.endpoint_url, self.credentials is None)

    def request(self, key: str, pin: Pin) -> Request:
        """A signed GET. Raises NotAuthorized or Retryable when credentials cannot be renewed."""
        address, region = self.address()
        with mapped(self.call(f"s3://{self.bucket}/{key}")):
            frozen = self.credentials.get_frozen_credentials() if self.credentials else None
        return signed_get(address, key=key, pin=pin, region=region, credentials=frozen, ca_file=self.ca_file)

    def address(self) -> tuple[Address, str]:
        """Where the bucket's objects are and the region that signs for it, by botocore's own rules: path or
        virtual style, regional and dual-stack names, and redirects. Known once the bucket was listed.
        """
        assert self._address is not None, "every resolve lists"
        return self._address

    def moved_to(self, other: Connection) -> Connection:
        """`other`, which already knows what this one learnt."""
        other._address = self._address
        return other

    def _learn(self, request: AWSPreparedRequest, **_: object) -> None:
        """Botocore's word before each try, so that the last one is what the server accepted."""
        region = _signing_region(str(request.headers.get("Authorization", "")))
        self._address = parse_address(request.url), region or self.client.meta.region_name


def _signing_region(authorization: str) -> str | None:
    """From `Credential=<key>/<date>/<region>/s3/aws4_request, ...`."""
    _, found, scope = authorization.partition("Credential=")
    return scope.partition(",")[0].split("/")[-3] if found else None


def _check_bundle(ca_file: str | None) -> None:
    """Here the file can be named; what TLS says of it later names no file."""
    try:
        ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # ssl.SSLError is one
        raise Permanent(
            f"cannot read the authorities in {ca_file}: {error}",
            hint="check ca_file of the source, or AWS_CA_BUNDLE",
        ) from error


@functools.cache
def _models(folder: str | None) -> Loader:
    """Botocore's descriptions of services, parsed once: each session of its own takes 90 ms of CPU for that."""
    return create_loader(folder)


class Connections:
    """The connections of one source rule. Safe to use from several threads."""

    def __init__(self, rule: config.Source | None, timeouts: config.Timeouts) -> None:
        self._rule = rule
        self._timeouts = timeouts
        self._lock = threading.Lock()
        self._by_bucket: dict[str, Connection] = {}

    def get(self, bucket: str) -> Connection:
        """The bucket's connection. Raises NotAuthorized when a configured credential cannot be had."""
        with self._lock:
            if bucket not in self._by_bucket:
                self._by_bucket[bucket] = self._open(bucket)
            return self._by_bucket[bucket]

    def renew(self, refused: Connection) -> Connection:
        """A connection with credentials looked up anew, in place of the one that was `refused`. Many lanes may
        be refused at once: the first renews, the others get what it got.
        """
        with self._lock:
            current = self._by_bucket.get(refused.bucket)
            if current is None or current is refused:
                current = refused.moved_to(self._open(refused.bucket))
                self._by_bucket[refused.bucket] = current
                refused.client.close()  # idle sockets only: a call that is on its way keeps its own
            return current

    def renewed(self, bucket: str) -> Connection:
        """`renew` for a caller who holds no connection."""
        # Not through `get`: that waits for a renewal under way, and then its result would be renewed once more.
        refused = self._by_bucket.get(bucket)
        return self.renew(refused) if refused else self.get(bucket)

    def close(self) -> None:
        with self._lock:
            for connection in self._by_bucket.values():
                connection.client.close()
            self._by_bucket.clear()

    def _open(self, bucket: str) -> Connection:
        endpoint = self._rule.endpoint if self._rule else None
        with opening(Call(f"s3://{bucket}/", bucket, endpoint or "AWS", anonymous=False)):
            session = botocore.session.get_session()
            session.register_component("data_loader", _models(session.get_config_variable("data_path")))
            session.set_config_variable("region", self._region(session))
            ca_file = (self._rule.ca_file if self._rule else None) or session.get_config_variable("ca_bundle")
            _check_bundle(ca_file)
            credentials = session.get_credentials()
            client = session.create_client(
                "s3",
                endpoint_url=endpoint,
                verify=ca_file,
                config=self._settings(anonymous=credentials is None),
            )
        return Connection(bucket, cast("S3Client", client), credentials, ca_file)

    def _region(self, session: botocore.session.Session) -> str:
        """AWS_REGION is what every SDK but botocore reads, and what EKS gives its pods."""
        listed = self._rule.region if self._rule else None
        ambient = os.environ.get("AWS_REGION") or session.get_config_variable("region")
        return listed or ambient or "us-east-1"

    def _settings(self, *, anonymous: bool) -> BotoConfig:
        return BotoConfig(
            signature_version=UNSIGNED if anonymous else "s3v4",
            connect_timeout=float(self._timeouts.connect),
            read_timeout=float(self._timeouts.first_byte),
            retries={"mode": "standard", "total_max_attempts": TRIES},
            max_pool_connections=POOL,
            user_agent_extra="cached",
            # botocore's own response check fails good ranged reads of composite checksums (botocore#3346).
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
