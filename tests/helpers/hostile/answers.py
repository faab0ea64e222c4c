"""What a well-behaved server answers: S3 path-style (ListObjectsV2, HEAD, GET, HeadBucket) and plain files.

Pure: a request and a shelf give a reply. Everything that is wrong on purpose is in `faults`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

from tests.helpers.hostile.exchange import Op, Reply, Request, span
from tests.helpers.hostile.items import Item, Shelf

MODIFIED = "Mon, 01 Sep 2025 08:00:00 GMT"
MODIFIED_ISO = "2025-09-01T08:00:00.000Z"
REGION = "us-east-1"
_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_ESCAPES = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def error(status: int, code: str, message: str, **headers: str) -> Reply:
    """An S3 error document."""
    body = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{escape(message)}</Message>'
        "<RequestId>4442587FB7D0A2F9</RequestId></Error>"
    )
    return Reply.text(status, body, content_type="application/xml", **headers)


def answer(request: Request, shelf: Shelf, *, page: int) -> Reply:
    """The right reply; `page` is the most keys one listing answer holds."""
    match request.op:
        case Op.LIST:
            return _list(request, shelf, page)
        case Op.BUCKET:
            found = shelf.has_bucket(request.bucket)
            return Reply.text(200 if found else 404, "", x_amz_bucket_region=REGION)
        case Op.GET | Op.HEAD:
            return _object(request, shelf)
    return error(405, "MethodNotAllowed", f"{request.method} is not served here")


def _object(request: Request, shelf: Shelf) -> Reply:
    item = shelf.get(request.path, request.query.get("versionId"))
    if item is None:
        return _missing(request, shelf)
    wanted = request.headers.get("if-match")
    if wanted not in {None, "*", item.etag}:
        return error(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
    if item.archived and request.op is Op.GET:
        return error(403, "InvalidObjectState", "The operation is not valid for the object's storage class")
    return _content(request, item)


def _missing(request: Request, shelf: Shelf) -> Reply:
    if not shelf.has_bucket(request.bucket):
        return error(404, "NoSuchBucket", "The specified bucket does not exist")
    return error(404, "NoSuchKey", "The specified key does not exist.")


def _content(request: Request, item: Item) -> Reply:
    size = item.content.size
    asked = span(request.range, size) if item.ranges else None
    whole = Reply(status=200, headers=_attributes(request, item), payload=True)
    if asked is None:
        return whole.body(item.content)
    start, stop = asked
    if start >= stop:
        return error(416, "InvalidRange", "The requested range is not satisfiable", Content_Range=f"bytes */{size}")
    part = Reply(status=206, headers=whole.headers, payload=True).body(item.content, start, stop)
    return part.head(Content_Range=f"bytes {start}-{stop - 1}/{size}")


def _attributes(request: Request, item: Item) -> dict[str, str]:
    """An item's headers. A ranged answer repeats the checksum of the whole, as some S3 stores do."""
    checksum = item.checksum if request.headers.get("x-amz-checksum-mode", "").upper() == "ENABLED" else None
    said = {
        "Content-Type": item.content_type,
        "Content-Encoding": item.content_encoding,
        "Last-Modified": MODIFIED,
        "ETag": item.etag,
        "Accept-Ranges": "bytes" if item.ranges else None,
        "x-amz-version-id": item.version,
        "x-amz-storage-class": item.storage_class,
        "x-amz-restore": item.restore,
        "x-amz-server-side-encryption": item.sse,
    }
    if checksum:
        said |= {f"x-amz-checksum-{checksum[0]}": checksum[1], "x-amz-checksum-type": item.checksum_type}
    return {name: value for name, value in said.items() if value is not None} | dict(item.headers)


def _list(request: Request, shelf: Shelf, page: int) -> Reply:
    query = request.query
    if not shelf.has_bucket(request.bucket):
        return error(404, "NoSuchBucket", "The specified bucket does not exist")
    if query.get("delimiter"):
        return error(501, "NotImplemented", "this server lists without a delimiter")
    after = base64.urlsafe_b64decode(query.get("continuation-token", "")).decode(errors="surrogateescape")
    after = after or query.get("start-after", "")
    found = [pair for pair in shelf.listing(request.bucket, query.get("prefix", "")) if _follows(pair[0], after)]
    most = min(page, int(query.get("max-keys", "1000")))
    body = _listing(request, found[:most], more=len(found) > most)
    return Reply.text(200, body, content_type="application/xml", x_amz_bucket_region=REGION)


def _follows(key: str, after: str) -> bool:
    return key.encode(errors="surrogateescape") > after.encode(errors="surrogateescape")


def _listing(request: Request, page: list[tuple[str, Item]], *, more: bool) -> str:
    url = request.query.get("encoding-type") == "url"
    parts = [
        f'<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="{_NAMESPACE}">',
        f"<Name>{request.bucket}</Name><Prefix>{_name(request.query.get('prefix', ''), url=url)}</Prefix>",
        f"<KeyCount>{len(page)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>",
        "<EncodingType>url</EncodingType>" if url else "",
        *_contents(page, url=url),
    ]
    if more:
        token = base64.urlsafe_b64encode(page[-1][0].encode(errors="surrogateescape")).decode()
        parts.append(f"<NextContinuationToken>{token}</NextContinuationToken>")
    return "".join([*parts, "</ListBucketResult>"])


def _contents(page: list[tuple[str, Item]], *, url: bool) -> Iterable[str]:
    for key, item in page:
        checksum = f"<ChecksumAlgorithm>{item.checksum[0].upper()}</ChecksumAlgorithm>" if item.checksum else ""
        kind = f"<ChecksumType>{item.checksum_type}</ChecksumType>" if checksum and item.checksum_type else ""
        yield (
            f"<Contents><Key>{_name(key, url=url)}</Key><LastModified>{MODIFIED_ISO}</LastModified>"
            f"<ETag>{escape(item.etag or '')}</ETag>{checksum}{kind}<Size>{item.content.size}</Size>"
            f"<StorageClass>{item.storage_class or 'STANDARD'}</StorageClass></Contents>"
        )


def _name(key: str, *, url: bool) -> str:
    """A key in XML: as S3 does with encoding-type=url (a space is `+`), else escaped."""
    return quote_plus(key, safe="/*", errors="surrogateescape") if url else escape(key, _ESCAPES)
