"""Whether an answer's body is exactly the bytes that were asked for. Pure: a head in, a verdict out.

The rules are strict because a body that is accepted is written at its offset at once: a server that ignores
ranges, a proxy that compresses, an object that was replaced must be noticed before the first byte. What a
head cannot tell (an early end) is found by counting. What follows from each refusal stands in
docs/architecture.md ("When a request fails").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cached.transfer.head import Head
from cached.transfer.protocol import Fault

_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,19})-([0-9]{1,19})/([0-9]{1,19}|\*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for: [offset, offset + length) of an object of `total` bytes, of version `etag`."""

    offset: int
    length: int
    total: int
    ranged: bool
    etag: str | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the body is not taken."""

    fault: Fault
    message: str


def is_strong(etag: str) -> bool:
    """Whether equal tags promise equal bytes (RFC 9110, 8.8.1); only such a tag may stand in If-Match."""
    return not etag.startswith("W/")


def same_etag(pinned: str, answered: str) -> bool:
    """Strong comparison, unless all that could be pinned was a weak tag. Quotes that a server forgot are
    forgiven: some object stores print the tag bare in one call and quoted in another.
    """
    if is_strong(pinned) and not is_strong(answered):
        return False
    return _opaque(pinned) == _opaque(answered)


def _opaque(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')


def refuse(asked: Asked, head: Head) -> Refusal | None:
    """Why the body must not be taken, or None: then it is exactly the bytes asked for, `asked.length` of them."""
    return (
        _refuse_status(head)
        or _refuse_framing(asked, head)
        or _refuse_version(asked, head)
        or (_refuse_whole(asked, head) if head.status == 200 else _refuse_range(asked, head))
        or _refuse_length(asked, head)
    )


def _refuse_status(head: Head) -> Refusal | None:
    if head.status in {200, 206}:
        return None
    if 300 <= head.status < 400:
        return Refusal(Fault.REDIRECT, f"the server redirects (status {head.status})")
    if head.status == 412:
        return Refusal(Fault.CHANGED, "the object is no longer the pinned version (status 412)")
    return Refusal(Fault.STATUS, f"the server answered with status {head.status}")


def _refuse_framing(asked: Asked, head: Head) -> Refusal | None:
    whole_to_a_range = asked.ranged and head.status == 200
    if head.transfer_encoding is not None and not whole_to_a_range:
        return Refusal(Fault.PROTOCOL, "the body's transfer encoding hides its length")
    if head.length is None and not whole_to_a_range:
        return Refusal(Fault.PROTOCOL, "without a content length the body's end cannot be told from a cut")
    if head.headers.get("content-type", "").lower().startswith("multipart/byteranges"):
        return Refusal(Fault.PROTOCOL, "the answer is multipart/byteranges, one range was asked for")
    encoding = head.headers.get("content-encoding", "identity").lower()
    if encoding not in {"", "identity"} and not _is_stored_form(asked, head):
        return Refusal(Fault.PROTOCOL, f"the body is encoded ({encoding[:40]}), the stored bytes were asked for")
    return None


def _is_stored_form(asked: Asked, head: Head) -> bool:
    """An object may be *stored* compressed and say so (rclone#2658). Its sizes are then those of the pinned,
    stored bytes; compression on the way would change them.
    """
    return head.length == asked.total or (asked.ranged and _content_range(head) == _expected_range(asked))


def _refuse_version(asked: Asked, head: Head) -> Refusal | None:
    answered = head.headers.get("etag")
    if asked.etag is None or answered is None or same_etag(asked.etag, answered):
        return None
    return Refusal(Fault.CHANGED, "the object's ETag is no longer the pinned one")


def _refuse_whole(asked: Asked, head: Head) -> Refusal | None:
    """A 200. To a ranged request it is taken only where the body is provably the range all the same."""
    framed = head.transfer_encoding is None
    if asked.ranged:
        is_range = "content-range" in head.headers and _content_range(head) == _expected_range(asked)
        is_everything = asked.offset == 0 and head.length == asked.length == asked.total
        if framed and (is_range or (is_everything and "content-range" not in head.headers)):
            return None
        return Refusal(Fault.WHOLE, "the server ignores ranges: it answered 200 to a ranged request")
    if head.length != asked.total:
        return Refusal(Fault.CHANGED, f"the object has {head.length} bytes, {asked.total} were pinned")
    return None


def _refuse_range(asked: Asked, head: Head) -> Refusal | None:
    found = _content_range(head)
    if found is None:
        return Refusal(Fault.PROTOCOL, "a partial answer without a readable Content-Range and total")
    start, end, total = found
    if total != asked.total:
        return Refusal(Fault.CHANGED, f"the object has {total} bytes, {asked.total} were pinned")
    if found != _expected_range(asked):
        wanted = f"{asked.offset}-{asked.offset + asked.length - 1}"
        return Refusal(Fault.PROTOCOL, f"the answer holds bytes {start}-{end}, {wanted} were asked for")
    return None


def _refuse_length(asked: Asked, head: Head) -> Refusal | None:
    if head.length != asked.length:
        return Refusal(Fault.PROTOCOL, f"the body has {head.length} bytes, {asked.length} were asked for")
    return None


def _content_range(head: Head) -> tuple[int, int, int] | None:
    """(first byte, last byte, total); None when absent, malformed, or the total is not said."""
    match = _CONTENT_RANGE.fullmatch(head.headers.get("content-range", ""))
    if not match or match.group(3) == "*":
        return None
    return int(match.group(1)), int(match.group(2)), int(match.group(3))


def _expected_range(asked: Asked) -> tuple[int, int, int]:
    return asked.offset, asked.offset + asked.length - 1, asked.total
