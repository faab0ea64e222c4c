"""Where the contract suite keeps its files: one place for each kind of server, all used in the same way.

A place owns how files get there and what URI and rule lead to them; what must hold for them is the suite's.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from mypy_boto3_s3 import S3Client

from cached.config import Bytes, Config, Source, Transfer
from cached.types import Uri
from tests.helpers.hostile import Hostile

PART = 64 << 10
WEIGHTS = bytes(range(256)) * 800
"""204,800 bytes: several parts of 64 KiB."""
FOLDER: Mapping[str, bytes] = {
    "config.json": b"{}",
    "empty.py": b"",
    "sub folder/tokenizer.json": b'{"a": 1}',
    "weights.safetensors": WEIGHTS,
}
ONE: Mapping[str, bytes] = {"weights.safetensors": WEIGHTS}


def settings(*rules: Source) -> Config:
    """A configuration with small parts, so that 200 KB are a big file."""
    return Config(sources=rules, transfer=Transfer(part=Bytes(PART)))


class Place(Protocol):
    """One model of its own on some server."""

    files: Mapping[str, bytes]
    """What is put there for most tests."""

    def put(self, path: str, data: bytes) -> None:
        """Store or replace one file of the model."""
        ...

    def put_beside(self) -> None:
        """Store something else, of a name that begins like the model's."""
        ...

    @property
    def rule(self) -> Source:
        """The rule that covers the model and what is beside it."""
        ...

    def uri(self, name: str | None = None) -> Uri:
        """The model's URI, or that of something of another name beside it."""
        ...


class S3Place:
    """A folder of a bucket."""

    files = FOLDER

    def __init__(self, client: S3Client, bucket: str, rule: Source) -> None:
        self.client = client
        self.bucket = bucket
        self.rule = rule
        self.folder = f"model-{uuid.uuid4().hex[:12]}"

    def put(self, path: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.bucket, Key=f"{self.folder}/{path}", Body=data)

    def put_beside(self) -> None:
        self.client.put_object(Bucket=self.bucket, Key=f"{self.folder}-v2/weights.safetensors", Body=b"other")

    def uri(self, name: str | None = None) -> Uri:
        return Uri(f"s3://{self.bucket}/{name or self.folder}")


class S3File(S3Place):
    """A single object, named by its own key."""

    files = ONE

    def uri(self, name: str | None = None) -> Uri:
        return Uri(f"s3://{self.bucket}/{name or f'{self.folder}/weights.safetensors'}")


class HostileS3Place:
    """A folder of the hostile server, which behaves here."""

    files = FOLDER

    def __init__(self, server: Hostile) -> None:
        self._server = server
        self.rule = Source(prefix="s3://", endpoint=server.url, ca_file=str(server.ca_file) if server.ca_file else None)

    def put(self, path: str, data: bytes) -> None:
        self._server.put(f"models/m/{path}", data)

    def put_beside(self) -> None:
        self._server.put("models/m-v2/weights.safetensors", b"other")

    def uri(self, name: str | None = None) -> Uri:
        return Uri(f"s3://models/{name or 'm'}")


class WebPlace:
    """A file on a plain web server, whose ETag is strong, weak or missing."""

    files = ONE

    def __init__(self, server: Hostile, *, etag: str | None) -> None:
        self._server = server
        self._etag = etag
        self._stored = 0
        self.rule = Source(prefix=f"{server.url}/", ca_file=str(server.ca_file) if server.ca_file else None)

    def put(self, path: str, data: bytes) -> None:
        self._stored += 1
        etag = self._etag and self._etag.format(self._stored)
        self._server.put_file(f"files/{path}", data, etag=etag)

    def put_beside(self) -> None:
        self._server.put_file("files/weights.safetensors.sha256", b"other")

    def uri(self, name: str | None = None) -> Uri:
        return Uri(f"{self._server.url}/files/{quote(name) if name else 'weights.safetensors?X-Signature=0'}")


class FilePlace:
    """A folder of this machine."""

    files = FOLDER

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.rule = Source(prefix=f"file://{folder}/")

    def put(self, path: str, data: bytes) -> None:
        target = self._folder / "m" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        before = target.stat().st_mtime_ns if target.exists() else 0
        target.write_bytes(data)
        # The kernel stamps files a few times a hundredth of a second: two writes in a row may look like one.
        os.utime(target, ns=(before + 10**9, before + 10**9))

    def put_beside(self) -> None:
        self.put("../m-v2/weights.safetensors", b"other")

    def uri(self, name: str | None = None) -> Uri:
        return Uri(f"file://{self._folder}/{name or 'm'}")
