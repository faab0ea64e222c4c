"""What an s3:// URI means, and how its keys become paths. Pure.

The path of the URI is literal: it is the key, or the folder above the keys, character for character. Nothing
here normalises, decodes or re-quotes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cached.errors import Permanent, Unsupported
from cached.types import Uri

KEY_MAX = 1024
"""Bytes of UTF-8 in a key, S3's own limit."""
# Wider than today's rule for new buckets: old buckets and other servers have capitals and underscores.
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Location:
    """`key` is "" for the whole bucket; with a trailing slash it can only be a folder."""

    bucket: str
    key: str

    @property
    def may_be_object(self) -> bool:
        return bool(self.key) and not self.key.endswith("/")

    @property
    def folder(self) -> str:
        """The prefix of every key below it. It ends with `/`, so `model` never matches `model-v2/a`."""
        return f"{self.key}/" if self.may_be_object else self.key

    @property
    def name(self) -> str:
        """The file name of the object itself."""
        return self.key.rpartition("/")[2]

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"


def parse(uri: Uri) -> Location:
    """The bucket and key of `uri`. Raises Permanent for names that S3 cannot hold, Unsupported for directory
    buckets.
    """
    bucket, _, key = uri.rest.partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise Permanent(f"{bucket[:80]!r} is not a bucket name", hint="write s3://bucket/path")
    if bucket.endswith("--x-s3"):
        raise Unsupported(
            f"{bucket} is a directory bucket (S3 Express), which asks for session credentials",
            hint="keep models in a general purpose bucket",
        )
    try:
        size = len(key.encode())
    except UnicodeEncodeError as error:
        raise Permanent(f"the path of {str(uri)[:200]!r} is not valid Unicode", hint="S3 keys are UTF-8") from error
    if size > KEY_MAX:
        raise Permanent(f"the path of the URI has {size} bytes, a key has at most {KEY_MAX}", hint="check the URI")
    return Location(bucket, key)
