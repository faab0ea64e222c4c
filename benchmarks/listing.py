"""Canned listing answers for a set, and which query asks for which. Pure.

One answer serves both versions of the call: ListObjectsV2 continues with a token, ListObjects (which
kserve-storage uses) after the last key that it was told. Every contestant lists the bucket as it would on S3;
the answers are static, so that listing costs each the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.sax.saxutils import escape

from benchmarks.datasets import BUCKET, DataSet, File

PAGE = 1000

NO_SUCH_KEY = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    "<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>"
)


@dataclass(frozen=True, slots=True)
class Page:
    """One answer. `query` is a regular expression (PCRE) for the query strings that ask for it."""

    name: str
    query: str
    xml: str


def pages(dataset: DataSet) -> tuple[Page, ...]:
    """The set's pages of 1,000 keys, last first: a continuation must match before the plain prefix does."""
    count = max(1, -(-len(dataset.files) // PAGE))
    return tuple(_page(dataset, number, last=number == count - 1) for number in reversed(range(count)))


def empty() -> Page:
    """The answer for any other prefix: nothing there."""
    return Page("empty", "", _document("", (), ""))


def _page(dataset: DataSet, number: int, *, last: bool) -> Page:
    name = f"{dataset.name}-{number}"
    query = _continues(dataset, number) if number else _begins(dataset)
    files = dataset.files[number * PAGE : (number + 1) * PAGE]
    more = "" if last else f"<NextContinuationToken>{dataset.name}-{number + 1}</NextContinuationToken>"
    return Page(name, query, _document(f"{dataset.name}/", files, more))


def _begins(dataset: DataSet) -> str:
    """The prefix may come with or without its slash, encoded or not."""
    return f"(^|&)prefix={dataset.name}(%2[Ff]|/)?(&|$)"


def _continues(dataset: DataSet, number: int) -> str:
    last = re.escape(dataset.files[number * PAGE - 1].name)
    return f"(^|&)(continuation-token={dataset.name}-{number}|marker={dataset.name}(%2[Ff]|/){last})(&|$)"


def _document(prefix: str, files: tuple[File, ...], more: str) -> str:
    contents = "".join(_contents(prefix, file) for file in files)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{BUCKET}</Name><Prefix>{prefix}</Prefix><KeyCount>{len(files)}</KeyCount><MaxKeys>{PAGE}</MaxKeys>"
        f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{more}{contents}</ListBucketResult>"
    )


def _contents(prefix: str, file: File) -> str:
    return (
        f"<Contents><Key>{prefix}{file.name}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        f"<ETag>{escape(file.etag, {chr(34): '&quot;'})}</ETag><Size>{file.size}</Size>"
        "<StorageClass>STANDARD</StorageClass></Contents>"
    )
