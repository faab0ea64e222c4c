"""A signed GET of one object, as bytes on the wire. Pure but for the clock that SigV4 reads.

The key is encoded once, here, and never passes through a URL library: those drop `/./`, join `//` and quote
again. A request costs about 60 us, so every part is signed afresh at dispatch and no signature gets old.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials

from cached.sources.base import Pin, Request

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a bucket answers. `base` is the path before the key: `` or `/bucket`, without a trailing slash."""

    scheme: str
    host: str
    port: int
    base: str

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"


def parse_address(url: str) -> Address:
    """The address in the URL of a listing."""
    parts = urlsplit(url)
    return Address(
        scheme=parts.scheme,
        host=parts.hostname or "",
        port=parts.port or _PORTS[parts.scheme],
        base=parts.path.rstrip("/"),
    )


def target(address: Address, key: str, version: str | None) -> str:
    """Path and query of `key` as on the wire."""
    path = f"{address.base}/{quote(key, safe='-._~/')}"
    return f"{path}?versionId={quote(version, safe='-._~')}" if version else path


def signed_get(
    address: Address,
    *,
    key: str,
    pin: Pin,
    region: str,
    credentials: ReadOnlyCredentials | None,
    ca_file: str | None,
) -> Request:
    """A GET of `key` at `pin`, signed unless there are no credentials. `Range` stays unsigned: it is added later."""
    wire = target(address, key, pin.version)
    headers = {"Host": address.authority, "x-amz-checksum-mode": "ENABLED"}
    if pin.etag:
        headers["If-Match"] = pin.etag
    if credentials is not None:
        request = AWSRequest(method="GET", url=address.origin + wire, headers=headers)
        _Auth(credentials, "s3", region).add_auth(request)
        headers = dict(request.headers.items())
    return Request(
        scheme=address.scheme,
        host=address.host,
        port=address.port,
        target=wire,
        headers=tuple(headers.items()),
        ca_file=ca_file,
    )


class _Auth(S3SigV4Auth):
    """SigV4 for S3 without the sha256 of a body that a GET does not have."""

    def payload(self, request: Any) -> str:  # noqa: ARG002
        return "UNSIGNED-PAYLOAD"
