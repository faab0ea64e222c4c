"""What an answer's headers say about an object: which version it is, and what its content must be. Pure.

One reading serves HEAD answers and payload answers alike. Sources of the rules: the S3 API reference
("Checking object integrity", "Common response headers"). An ETag is the content's MD5 only for an object
uploaded in one piece and not encrypted with KMS or a customer's key; a checksum is the whole object's only
when its type is FULL_OBJECT, a `-N` suffix marks a checksum of part checksums.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

from msgspec.structs import replace

from cached.errors import SourceChanged
from cached.sources.base import Entry, Pin
from cached.types import Digest

# Strongest first; the number is the checksum's length in bytes.
_CHECKSUMS = {"crc64nvme": 8, "crc32c": 4, "crc32": 4}
_MD5 = re.compile(r"[0-9a-f]{32}")
_CONTENT_ETAG = re.compile(r'"[0-9a-f]{32}(-[0-9]{1,5})?"')
_ARCHIVED = {"GLACIER", "DEEP_ARCHIVE"}


def canonical_etag(text: str) -> str:
    """With its quotes, which some servers forget in one of their calls."""
    return text if text.startswith("W/") else f'"{text.strip(chr(34))}"'


def make_pin(key: str, *, etag: str | None, version: str | None) -> Pin:
    """The pin of `key`: its version id where the bucket keeps versions, else its ETag.

    The key is part of the validator: a partial download must never be taken up by another object.
    """
    kept = version if version not in {None, "", "null"} else None
    identity = f"version {kept}" if kept else f"etag {etag}"
    return Pin(validator=f"{identity} {key}", etag=etag, version=kept)


def listed(path: str, key: str, *, size: int, etag: str) -> Entry:
    """An entry as a listing alone can tell it."""
    tag = canonical_etag(etag)
    return Entry(
        path=path,
        size=size,
        pin=make_pin(key, etag=tag, version=None),
        locator=key,
        md5=_md5(tag),
        alias=_alias(key, tag),
    )


def _alias(key: str, etag: str) -> tuple[str, str]:
    """S3's own ETags are made from the content, so equal ones are equal content under any key. What looks otherwise
    (a web server's `<mtime>-<size>`) tells versions of one key apart and nothing more.
    """
    return ("etag", etag if _CONTENT_ETAG.fullmatch(etag) else f"{etag} {key}")


def pinned(path: str, key: str, headers: Mapping[str, str]) -> Entry:
    """An entry as a HEAD answer tells it (lower-case names). Raises KeyError or ValueError when the answer has
    no length or no ETag.
    """
    tag = canonical_etag(headers["etag"])
    entry = listed(path, key, size=int(headers["content-length"]), etag=tag)
    entry = replace(entry, pin=make_pin(key, etag=tag, version=headers.get("x-amz-version-id")))
    return _withdrawn(_promised(entry, headers), headers)


def confirmed(entry: Entry, headers: Mapping[str, str]) -> Entry:
    """`entry` after an answer with payload. Raises SourceChanged when that is of another version."""
    _check_version(entry, headers)
    if _is_whole(entry, headers):
        entry = _promised(entry, headers)
    return _withdrawn(entry, headers)


def archived(headers: Mapping[str, str]) -> str | None:
    """Why the bytes cannot be had now, or None."""
    state = headers.get("x-amz-archive-status") or headers.get("x-amz-storage-class", "")
    restore = headers.get("x-amz-restore", "")
    if 'ongoing-request="true"' in restore:
        return f"it is being restored from {state}"
    if is_archive(state) and 'ongoing-request="false"' not in restore:
        return f"its storage class is {state}"
    return None


def is_archive(storage_class: str) -> bool:
    """Whether objects of this class need a restore. GLACIER_IR does not."""
    return storage_class in _ARCHIVED or storage_class.endswith("ARCHIVE_ACCESS")


def _check_version(entry: Entry, headers: Mapping[str, str]) -> None:
    etag, version = headers.get("etag"), headers.get("x-amz-version-id")
    other_etag = etag is not None and entry.pin.etag is not None and canonical_etag(etag) != entry.pin.etag
    other_version = version is not None and entry.pin.version is not None and version != entry.pin.version
    if other_etag or other_version:
        raise SourceChanged(
            f"{entry.path} was replaced at the source while it was fetched",
            hint="it will be looked up again; upload new versions under new names to avoid this",
        )


def _is_whole(entry: Entry, headers: Mapping[str, str]) -> bool:
    """A ranged answer may carry the checksum of its part; only the whole object's is of use."""
    return headers.get("content-range", "") in {"", f"bytes 0-{entry.size - 1}/{entry.size}"}


def _promised(entry: Entry, headers: Mapping[str, str]) -> Entry:
    if headers.get("x-amz-checksum-type", "FULL_OBJECT") != "FULL_OBJECT":
        return entry
    sha256 = _decoded(headers.get("x-amz-checksum-sha256", ""), 32)
    if sha256 is not None and entry.sha256 is None:
        entry = replace(entry, sha256=Digest(sha256.hex()))
    for name, length in _CHECKSUMS.items():
        value = headers.get(f"x-amz-checksum-{name}", "")
        if entry.checksum is None and _decoded(value, length) is not None:
            entry = replace(entry, checksum=(name, value))
    # Both prove the same; an MD5 costs 1.5 CPU-seconds a GiB more.
    return replace(entry, md5=None) if entry.checksum or entry.sha256 else entry


def _withdrawn(entry: Entry, headers: Mapping[str, str]) -> Entry:
    """Under KMS or a customer's key the ETag is a random name: no MD5 (net-amazon-s3#109), and no identity."""
    by_kms = headers.get("x-amz-server-side-encryption", "").startswith("aws:kms")
    by_customer = "x-amz-server-side-encryption-customer-algorithm" in headers
    return replace(entry, md5=None, alias=None) if by_kms or by_customer else entry


def _md5(etag: str) -> str | None:
    text = etag.strip('"')
    return text if _MD5.fullmatch(text) else None


def _decoded(value: str, length: int) -> bytes | None:
    """None for what is no checksum of the whole object, such as `...-3`."""
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == length else None
