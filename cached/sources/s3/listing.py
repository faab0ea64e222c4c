"""Asks S3 what lies at a location: blocking calls, each of one page or one object.

Rows become entries in `evidence`; what a location means is `location`'s. Nothing here decides what to fetch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cached.errors import Code, NotFound, Permanent, SourceChanged, Unsupported
from cached.sources.base import Entry
from cached.sources.s3 import evidence
from cached.sources.s3.connection import Connection
from cached.sources.s3.errors import mapped
from cached.sources.s3.location import Location

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import ListObjectsV2OutputTypeDef, ObjectTypeDef

FILES_MAX = 100_000
"""Files of one model. Above it a URI names a data lake by mistake, and the listing would not fit in memory."""


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a listing."""

    entry: Entry
    storage_class: str

    @property
    def is_marker(self) -> bool:
        """A folder that some tool made visible: an empty key that ends in `/`. Other empty keys are files."""
        return self.entry.size == 0 and self.entry.locator.endswith("/")


def list_folder(connection: Connection, location: Location) -> list[Entry]:
    """Every file below the location. Raises NotFound without the bucket, Unsupported for too many files."""
    entries: list[Entry] = []
    for page in _pages(connection, location):
        entries += [_readable(connection, row) for row in _rows(page, location) if not row.is_marker]
        if len(entries) > FILES_MAX:
            raise Unsupported(f"{location} holds over {FILES_MAX} files", hint="name the folder of one model")
    return entries


def has_folder(connection: Connection, location: Location) -> bool:
    """Whether anything but a folder marker lies below `<key>/`."""
    with mapped(connection.call(str(location))):
        page = connection.client.list_objects_v2(Bucket=location.bucket, Prefix=location.folder, MaxKeys=2)
    return any(row["Key"] != location.folder for row in page.get("Contents", []))


def neighbours(connection: Connection, location: Location) -> list[str]:
    """Up to three keys that begin like the location, for a helpful "not found"."""
    with mapped(connection.call(str(location))):
        page = connection.client.list_objects_v2(Bucket=location.bucket, Prefix=location.key.rstrip("/"), MaxKeys=3)
    return [row["Key"] for row in page.get("Contents", [])]


def head(connection: Connection, path: str, key: str) -> Entry:
    """The object's entry with its version and checksum. Raises NotFound, Unsupported when it is archived."""
    headers = _head(connection, key)
    try:
        entry = evidence.pinned(path, key, headers)
    except (KeyError, ValueError) as error:
        raise _no_pin(connection, key) from error
    _refuse_archived(key, headers)
    return entry


def pin(connection: Connection, entry: Entry) -> Entry:
    """`entry` of a listing, pinned by a HEAD. Raises SourceChanged when it went away in between."""
    try:
        return head(connection, entry.path, entry.locator)
    except NotFound as error:
        raise SourceChanged(
            f"{entry.path} was deleted while the model was listed", hint="it will be looked up again"
        ) from error


def _pages(connection: Connection, location: Location) -> Iterator[ListObjectsV2OutputTypeDef]:
    ask: dict[str, Any] = {"Bucket": location.bucket, "Prefix": location.folder}
    while True:
        with mapped(connection.call(str(location))):
            page = connection.client.list_objects_v2(**ask)
        yield page
        if not page.get("IsTruncated"):
            return
        token = page.get("NextContinuationToken")
        if token in {None, ask.get("ContinuationToken")}:
            raise Permanent(
                f"the listing of {location} cannot be read to its end: a page does not say where the next begins",
                code=Code.SOURCE_UNAVAILABLE,
                hint=_AT_FAULT,
            )
        ask["ContinuationToken"] = token


_AT_FAULT = "the S3 server is at fault"


def _rows(page: ListObjectsV2OutputTypeDef, location: Location) -> Iterator[Row]:
    for item in page.get("Contents", []):
        if item["Key"].startswith(location.folder):
            yield _row(item, location)


def _row(item: ObjectTypeDef, location: Location) -> Row:
    key = item["Key"]
    if "ETag" not in item or "Size" not in item:
        raise Unsupported(f"the listing of {location} gives {key!r} no ETag or size", hint="nothing could be pinned")
    if item["Size"] < 0:
        raise Unsupported(f"the listing of {location} gives {key!r} a size of {item['Size']}", hint=_AT_FAULT)
    entry = evidence.listed(key.removeprefix(location.folder), key, size=item["Size"], etag=item["ETag"])
    return Row(entry, item.get("StorageClass", ""))


def _readable(connection: Connection, row: Row) -> Entry:
    """The listing does not say whether an archived object was restored: only then a HEAD is worth its time."""
    if evidence.is_archive(row.storage_class):
        _refuse_archived(row.entry.locator, _head(connection, row.entry.locator))
    return row.entry


def _head(connection: Connection, key: str) -> dict[str, str]:
    with mapped(connection.call(f"s3://{connection.bucket}/{key}")):
        answer = connection.client.head_object(Bucket=connection.bucket, Key=key, ChecksumMode="ENABLED")
    return dict(answer["ResponseMetadata"]["HTTPHeaders"])


def _refuse_archived(key: str, headers: dict[str, str]) -> None:
    why = evidence.archived(headers)
    if why is not None:
        raise Unsupported(
            f"the object {key!r} cannot be read now: {why}",
            hint="restore it first, or copy it to another storage class",
        )


def _no_pin(connection: Connection, key: str) -> Unsupported:
    return Unsupported(f"s3://{connection.bucket}/{key} has no ETag or no length", hint="nothing could be pinned")
