"""The payload HTTP client: one request and one answer at a time on a kept connection, strictly framed.

It never follows redirects, never reads past an answer's declared end into payload, and hands out bytes
straight into the caller's buffer. Whether an answer is the right one is not its business (see
`cached.transfer.accept`).
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass

from cached.transfer.accept import is_strong
from cached.transfer.chunked import unchunk
from cached.transfer.head import HEAD_MAX, BadHeadError, Head, parse_head
from cached.transfer.outcome import JobFault
from cached.transfer.protocol import Fault, Fetch
from cached.transfer.stall import StallWatch
from cached.transfer.stream import Stream

EXCERPT = 2 << 10
"""Bytes of an error answer's body that the control process gets to see."""
_TICK_MAX = 0.5
"""Seconds one receive may wait for its buffer to fill: how late progress shows on a slow link."""


@dataclass(frozen=True, slots=True)
class Limits:
    """See `Hello`: seconds, and bytes a second."""

    connect: float
    first_byte: float
    stall_window: float
    stall_floor: int


class StaleConnectionError(Exception):
    """A kept connection turned out closed before a byte of the answer came: ask again on a fresh one."""


def request_bytes(fetch: Fetch) -> bytes:
    """The request exactly as it goes out. Raises JobFault (PROTOCOL) if it would break a line."""
    request = fetch.request
    lines = [f"GET {request.target} HTTP/1.1", *(f"{name}: {value}" for name, value in request.headers)]
    present = {name.lower() for name, _ in request.headers}
    if fetch.ranged and fetch.length and "range" not in present:
        lines.append(f"Range: bytes={fetch.offset}-{fetch.offset + fetch.length - 1}")
    if fetch.etag is not None and is_strong(fetch.etag) and "if-match" not in present:
        lines.append(f"If-Match: {fetch.etag}")
    lines.append("Accept-Encoding: identity")
    text = "\r\n".join(lines)
    if text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1 or " " in request.target:
        raise JobFault(Fault.PROTOCOL, "the request's target or a header holds a space or line break")
    try:
        return text.encode("latin-1") + b"\r\n\r\n"
    except UnicodeEncodeError as error:
        raise JobFault(Fault.PROTOCOL, "the request's target or a header is not in its wire form") from error


class Connection:
    """One stream and what of it was read ahead of the body."""

    def __init__(self, stream: Stream, limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self._tick = min(limits.stall_window / 16, _TICK_MAX)
        self._raw = bytearray(HEAD_MAX)
        self._buffer = memoryview(self._raw)
        self._start = 0
        self._end = 0
        self._fresh = True
        self._watch = StallWatch(window=limits.stall_window, floor=limits.stall_floor)

    @property
    def reusable(self) -> bool:
        """Whether nothing follows the answer: bytes too many, or a close, make it useless."""
        return self._start == self._end and self._stream.is_quiet()

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()

    def abort(self) -> None:
        """Make whoever waits on it, in another thread, fail at once."""
        self._stream.abort()

    def ask(self, request: bytes) -> Head:
        """Send `request` and read the answer's head. Raises StaleConnectionError, or JobFault: CONNECT when the
        connection ends first, FIRST_BYTE when the head takes too long, PROTOCOL when it is malformed.
        """
        self._watch = StallWatch(window=self._limits.stall_window, floor=self._limits.stall_floor)
        self._start = self._end = 0
        fresh, self._fresh = self._fresh, False
        try:
            self._stream.send(request, timeout=self._limits.first_byte)
            return self._read_head(time.monotonic() + self._limits.first_byte)
        except TimeoutError as error:
            raise JobFault(Fault.FIRST_BYTE, f"no answer within {self._limits.first_byte:g} s") from error
        except OSError as error:
            if not fresh and self._end == 0:
                raise StaleConnectionError from error
            raise JobFault(Fault.CONNECT, f"the connection ended before the answer: {error}") from error

    def _read_head(self, deadline: float) -> Head:
        while True:
            cut = self._raw.find(b"\r\n\r\n", self._start, self._end)
            if cut < 0:
                self._read_more(deadline)
                continue
            data = bytes(self._raw[self._start : cut])
            self._start = cut + 4
            try:
                head = parse_head(data)
            except BadHeadError as error:
                raise JobFault(Fault.PROTOCOL, f"malformed answer: {error}") from error
            if head.status == 101:
                raise JobFault(Fault.PROTOCOL, "the server switches protocols unasked")
            if head.status >= 200:
                return head

    def _read_more(self, deadline: float) -> None:
        if self._end == HEAD_MAX:
            raise JobFault(Fault.PROTOCOL, f"the answer's head is longer than {HEAD_MAX >> 10} KiB")
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        count = self._stream.receive(self._buffer[self._end :], timeout=left)
        if count == 0:
            raise ConnectionError("closed by the server")
        self._end += count

    def receive(self, into: memoryview) -> int:
        """Some bytes of the body. Raises JobFault: SHORT at the stream's end, STALLED under the floor."""
        if self._start < self._end:
            return self._take(into)
        while True:
            began = time.monotonic()
            try:
                count = self._stream.receive_full(into, timeout=self._tick)
            except TimeoutError:
                count = -1
            except OSError as error:
                raise JobFault(Fault.SHORT, f"the connection broke inside the body: {error}") from error
            if count == 0:
                raise JobFault(Fault.SHORT, "the connection ended inside the body")
            if self._watch.note(waited=time.monotonic() - began, received=max(count, 0)):
                raise JobFault(Fault.STALLED, self._stall_text())
            if count > 0:
                return count

    def _stall_text(self) -> str:
        limits = self._limits
        return f"under {limits.stall_floor} bytes a second over {limits.stall_window:g} s"

    def _take(self, into: memoryview) -> int:
        count = min(len(into), self._end - self._start)
        into[:count] = self._buffer[self._start : self._start + count]
        self._start += count
        return count

    def excerpt(self, head: Head) -> str:
        """The beginning of an error answer's body, as far as it comes in time. The connection is of no use after."""
        deadline = time.monotonic() + self._limits.first_byte
        body, complete = self._body_so_far(head)
        # Best effort: the status alone tells the caller what to do.
        with contextlib.suppress(OSError, JobFault):
            while not complete and len(body) < EXCERPT:
                self._read_more(deadline)
                body, complete = self._body_so_far(head)
        return body[:EXCERPT].decode(errors="replace")

    def _body_so_far(self, head: Head) -> tuple[bytes, bool]:
        raw = bytes(self._raw[self._start : self._end])
        if head.transfer_encoding == "chunked":
            return unchunk(raw)
        return raw[: head.length], head.length is not None and len(raw) >= head.length
