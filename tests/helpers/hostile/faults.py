"""Every way to break a reply, each a frozen value; several on one request apply in the order declared.

A fault is a pure function from a request and the right reply to the wrong one. When and how often it strikes
is said to `Hostile.misbehave`.
"""

# ruff: noqa: ARG002  (one signature for all faults, whether or not each reads both)

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Protocol

from tests.helpers.hostile.answers import error
from tests.helpers.hostile.content import Flipped, Literal
from tests.helpers.hostile.exchange import Ending, Reply, Request


class Fault(Protocol):
    """What `Hostile.misbehave` takes."""

    def apply(self, request: Request, reply: Reply) -> Reply:
        """The reply that goes out instead of `reply`."""
        ...


# The connection


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection after `after` body bytes, all of them promised by Content-Length."""

    after: int

    def apply(self, request: Request, reply: Reply) -> Reply:
        return replace(reply, cut=self.after, ending=Ending.CLOSE)


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection (RST, not FIN) after `after` body bytes."""

    after: int

    def apply(self, request: Request, reply: Reply) -> Reply:
        return replace(reply, cut=self.after, ending=Ending.RESET)


@dataclass(frozen=True, slots=True)
class Hangup:
    """Close without any answer."""

    def apply(self, request: Request, reply: Reply) -> Reply:
        return replace(reply, mute=True, ending=Ending.CLOSE)


@dataclass(frozen=True, slots=True)
class Stall:
    """Send `after` body bytes, then nothing for ever, with the connection open."""

    after: int = 0

    def apply(self, request: Request, reply: Reply) -> Reply:
        return replace(reply, cut=self.after, ending=Ending.STALL)


@dataclass(frozen=True, slots=True)
class Mute:
    """Never answer at all, with the connection open."""

    def apply(self, request: Request, reply: Reply) -> Reply:
        return replace(reply, mute=True, ending=Ending.STALL)


@dataclass(frozen=True, slots=True)
class Trickle:
    """Send the body at `rate` bytes a second."""

    rate: int = 1

    def apply(self, request: Request, reply: Reply) -> Reply:
        return replace(reply, rate=self.rate)


@dataclass(frozen=True, slots=True)
class HalfClose:
    """Shut the sending side down behind the body (or `after` bytes of it) and go on listening."""

    after: int | None = None

    def apply(self, request: Request, reply: Reply) -> Reply:
        return replace(reply, cut=self.after, ending=Ending.HALF_CLOSE)


# The framing


@dataclass(frozen=True, slots=True)
class ShortLength:
    """Promise and send `by` bytes less than the range that the rest of the head speaks of."""

    by: int

    def apply(self, request: Request, reply: Reply) -> Reply:
        return reply.body(reply.whole, reply.start, reply.stop - self.by)


@dataclass(frozen=True, slots=True)
class NoLength:
    """Promise no length: the end of the connection is the end of the body (or, with `after`, a cut)."""

    after: int | None = None

    def apply(self, request: Request, reply: Reply) -> Reply:
        return replace(reply.head(Content_Length=None), cut=self.after, ending=Ending.CLOSE)


@dataclass(frozen=True, slots=True)
class Chunked:
    """Send the body in chunks; with `after`, the connection ends there, without the last chunk."""

    after: int | None = None

    def apply(self, request: Request, reply: Reply) -> Reply:
        ending = Ending.KEEP if self.after is None else Ending.CLOSE
        framed = reply.head(Content_Length=None, Transfer_Encoding="chunked")
        return replace(framed, chunked=True, cut=self.after, ending=ending)


@dataclass(frozen=True, slots=True)
class Extra:
    """Send bytes behind the end of the body."""

    data: bytes = b"more than was promised"

    def apply(self, request: Request, reply: Reply) -> Reply:
        return replace(reply, extra=self.data)


@dataclass(frozen=True, slots=True)
class Gzip:
    """Compress the body on the way, as a transcoding proxy does."""

    def apply(self, request: Request, reply: Reply) -> Reply:
        plain = reply.whole.read(reply.start, reply.stop - reply.start)
        return reply.head(Content_Encoding="gzip").body(Literal(gzip.compress(plain, 1, mtime=0)))


# Ranges


@dataclass(frozen=True, slots=True)
class IgnoreRange:
    """200 and the whole object, whatever range was asked for."""

    def apply(self, request: Request, reply: Reply) -> Reply:
        whole = replace(reply, status=200).body(reply.whole)
        return whole.head(Content_Range=None)


@dataclass(frozen=True, slots=True)
class RangedOk:
    """The right range, with its Content-Range, but with status 200."""

    def apply(self, request: Request, reply: Reply) -> Reply:
        return replace(reply, status=200)


@dataclass(frozen=True, slots=True)
class WrongStart:
    """A 206 that says, and holds, a range `by` bytes further on."""

    by: int

    def apply(self, request: Request, reply: Reply) -> Reply:
        size = reply.whole.size
        start, stop = min(reply.start + self.by, size - 1), min(reply.stop + self.by, size)
        return reply.body(reply.whole, start, stop).head(Content_Range=f"bytes {start}-{stop - 1}/{size}")


@dataclass(frozen=True, slots=True)
class WrongTotal:
    """A 206 whose Content-Range gives the object `by` bytes more."""

    by: int

    def apply(self, request: Request, reply: Reply) -> Reply:
        total = reply.whole.size + self.by
        return reply.head(Content_Range=f"bytes {reply.start}-{reply.stop - 1}/{total}")


@dataclass(frozen=True, slots=True)
class Multipart:
    """The range as multipart/byteranges."""

    def apply(self, request: Request, reply: Reply) -> Reply:
        inner = reply.headers.get("Content-Range", f"bytes 0-{reply.stop - 1}/{reply.whole.size}")
        head = f"--cut\r\nContent-Type: application/octet-stream\r\nContent-Range: {inner}\r\n\r\n".encode()
        data = reply.whole.read(reply.start, reply.stop - reply.start)
        framed = reply.body(Literal(head + data + b"\r\n--cut--\r\n"))
        return framed.head(Content_Range=None, Content_Type="multipart/byteranges; boundary=cut")


# What is said about the content


@dataclass(frozen=True, slots=True)
class Flip:
    """One bit of the object's byte `at` is wrong, where the answer covers it."""

    at: int

    def apply(self, request: Request, reply: Reply) -> Reply:
        return replace(reply, whole=Flipped(reply.whole, self.at))


@dataclass(frozen=True, slots=True)
class Header:
    """Another value for one header (None: it is left out): a changed ETag, a wrong checksum."""

    name: str
    value: str | None

    def apply(self, request: Request, reply: Reply) -> Reply:
        return reply.head(**{self.name: self.value})


# Refusals


@dataclass(frozen=True, slots=True)
class Refuse:
    """An S3 error answer; `headers` are (name, value) pairs."""

    status: int
    code: str
    message: str = "refused on purpose"
    headers: tuple[tuple[str, str], ...] = ()

    def apply(self, request: Request, reply: Reply) -> Reply:
        return error(self.status, self.code, self.message, **dict(self.headers))


def slow_down(*, retry_after: int | None = None) -> Refuse:
    """503 as S3 gives it above the request rate of a prefix."""
    headers = (("Retry-After", str(retry_after)),) if retry_after is not None else ()
    return Refuse(503, "SlowDown", "Please reduce your request rate.", headers)


def too_many(*, seconds: int) -> Refuse:
    """429 with the RateLimit header of the IETF draft, as the Hugging Face hub sends it."""
    return Refuse(429, "TooManyRequests", "rate limit", (("RateLimit", f'"api";r=0;t={seconds}'),))


def not_satisfiable() -> Refuse:
    """416 although the range lies inside."""
    return Refuse(416, "InvalidRange", "The requested range is not satisfiable")


def precondition_failed() -> Refuse:
    """412, as after an overwrite."""
    return Refuse(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")


def expired_token() -> Refuse:
    """400, which is how S3 says that temporary credentials are over."""
    return Refuse(400, "ExpiredToken", "The provided token has expired.")


def access_denied() -> Refuse:
    """403 without more words."""
    return Refuse(403, "AccessDenied", "Access Denied")


def other_region(region: str) -> Refuse:
    """301 with the bucket's real region and no Location."""
    message = "The bucket you are attempting to access must be addressed using the specified endpoint."
    return Refuse(301, "PermanentRedirect", message, (("x-amz-bucket-region", region),))


# Addresses, credentials, clocks


@dataclass(frozen=True, slots=True)
class Redirect:
    """302 to `to`; with `sign` each answer carries another signature, as a presigned URL does."""

    to: str
    sign: bool = False

    def apply(self, request: Request, reply: Reply) -> Reply:
        mark = f"{'&' if '?' in self.to else '?'}X-Signature={request.repeats}" if self.sign else ""
        return Reply.text(302, "", Location=self.to + mark)


@dataclass(frozen=True, slots=True)
class RefuseAuthorization:
    """400 for a request that carries Authorization, as signed URLs of object stores answer."""

    def apply(self, request: Request, reply: Reply) -> Reply:
        if "authorization" not in request.headers:
            return reply
        return error(400, "InvalidArgument", "Only one auth mechanism allowed")


@dataclass(frozen=True, slots=True)
class SignatureExpires:
    """403 for a target (its signature included) asked for more than `uses` times, or `seconds` ago for the first."""

    uses: int | None = None
    seconds: float | None = None

    def apply(self, request: Request, reply: Reply) -> Reply:
        used_up = self.uses is not None and request.repeats >= self.uses
        too_old = self.seconds is not None and request.age >= self.seconds
        return error(403, "AccessDenied", "Request has expired") if used_up or too_old else reply


@dataclass(frozen=True, slots=True)
class RequireKey:
    """403 unless the request is signed with this access key id."""

    access_key: str

    def apply(self, request: Request, reply: Reply) -> Reply:
        if f"Credential={self.access_key}/" in request.headers.get("authorization", ""):
            return reply
        return error(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")


@dataclass(frozen=True, slots=True)
class RequireRegion:
    """301 with the bucket's region, and no Location, unless the request is signed for that region."""

    region: str

    def apply(self, request: Request, reply: Reply) -> Reply:
        if f"/{self.region}/s3/" in request.headers.get("authorization", ""):
            return reply
        return other_region(self.region).apply(request, reply)


@dataclass(frozen=True, slots=True)
class SkewedClock:
    """The server's clock is `by` seconds ahead; a signature 15 minutes off that clock is refused, as S3 does."""

    by: float

    def apply(self, request: Request, reply: Reply) -> Reply:
        now = datetime.now(UTC) + timedelta(seconds=self.by)
        signed = request.headers.get("x-amz-date")
        if signed and abs(now - _amz_time(signed)) > timedelta(minutes=15):
            reply = error(403, "RequestTimeTooSkewed", "The difference between the request time and the server's")
        return reply.head(Date=format_datetime(now, usegmt=True))


def _amz_time(text: str) -> datetime:
    return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
