"""What the control process and a worker say to each other: one JSON message a line, over the worker's stdin
and stdout.

A worker has `lanes` payload lanes and as many hash lanes as `Hello` says. A lane is a thread with a FIFO of jobs, one
keep-alive connection and one 1 MiB buffer. The control process decides which lane does what and in which
order; the worker decides nothing. Each `Fetch`, `Hash` and `Close` is answered exactly once (`Done`,
`Failed`, `Closed`); `Moved` messages tell progress in between.

In-order digests: a file opened with `digests` carries one running hash per algorithm. A job with
`digest=True` feeds it and must start exactly where the last one ended; the control process keeps all
such jobs of one file in one worker, one at a time.
"""

from __future__ import annotations

import enum
from typing import Literal

import msgspec

from cached import codec
from cached.sources.base import Request

Checksum = Literal["crc32", "crc32c", "crc64nvme"]


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag=str.lower):
    pass


class Hello(_Message, frozen=True):
    """First message to a worker: its settings. Times in seconds, `stall_floor` in bytes a second."""

    parent: int
    """The pid that must be the worker's parent; if it no longer is, the worker exits at once."""
    lanes: int
    hash_lanes: int
    connect: float
    first_byte: float
    stall_window: float
    stall_floor: int


class Open(_Message, frozen=True):
    """Open `path` for writing and (again) start its running digests from byte 0. Not answered; a failure to
    open shows in the jobs that follow. Opening an open file only resets its digests."""

    file: int
    path: str
    size: int
    digests: tuple[str, ...]
    """In-order algorithms: `sha256`, `md5`."""


class Fetch(_Message, frozen=True):
    """GET [offset, offset + length) of an object of `total` bytes and write it at its place."""

    job: int
    lane: int
    file: int
    offset: int
    length: int
    total: int
    ranged: bool
    """False: no Range header, offset is 0 and length is total; the answer must be a 200 (or a 206 of everything)."""
    request: Request
    etag: str | None
    """Compared with the answer's ETag where it sends one; also sent as If-Match unless `request` has one."""
    digest: bool
    checksum: Checksum | None


class Hash(_Message, frozen=True):
    """Read [offset, offset + length) back from the file: xxh3, `checksum`, and the running digests if `digest`."""

    job: int
    lane: int
    """Index among the hash lanes."""
    file: int
    offset: int
    length: int
    digest: bool
    checksum: Checksum | None


class Drop(_Message, frozen=True):
    """Nobody wants the file any more: break off its fetches, also those that wait for a server. Not answered; its
    jobs are, as Failed (`DROPPED`) unless they end otherwise first."""

    file: int


class Close(_Message, frozen=True):
    """Close the file (all its jobs are answered) and say its digests."""

    job: int
    file: int


class Done(_Message, frozen=True):
    """The whole of a Fetch or Hash is done."""

    job: int
    length: int
    xxh3: str
    """xxh3-128 of these bytes, 32 hex."""
    checksum: int | None
    headers: dict[str, str] = {}
    """The answer's headers, lower-case names, of a Fetch."""


class Fault(enum.StrEnum):
    """Why a job failed, by what the control process does next."""

    CONNECT = "connect"
    """No connection: name, refused, unreachable, timeout, reset before an answer."""
    TLS = "tls"
    """The certificate or handshake was refused."""
    FIRST_BYTE = "first_byte"
    STALLED = "stalled"
    SHORT = "short"
    """The connection ended before the promised bytes."""
    STATUS = "status"
    """An error status; `status`, `headers` and `body` say which."""
    REDIRECT = "redirect"
    WHOLE = "whole"
    """200 to a ranged request: the server sends no ranges of this object."""
    CHANGED = "changed"
    """412, or another ETag or total than pinned."""
    PROTOCOL = "protocol"
    """An answer that breaks the rules of `cached.transfer.accept`."""
    DROPPED = "dropped"
    DISK = "disk"
    """The local file failed; `errno` says how."""
    SOURCE_FILE = "source_file"
    """A `file` request's file is missing, unreadable or no longer as pinned; `errno` 0 when it changed."""


class Failed(_Message, frozen=True):
    """A job that did not finish. The first `written` bytes from its offset are good: written, and in `xxh3`,
    `checksum` and (if asked) the running digests; a multiple of 4096. Fetch the rest again from there."""

    job: int
    fault: Fault
    message: str
    written: int
    xxh3: str
    checksum: int | None
    status: int = 0
    errno: int = 0
    headers: dict[str, str] = {}
    body: str = ""
    """The first 2 KiB of an error answer's text."""


class Moved(_Message, frozen=True):
    """Progress of jobs since their last message: pairs of (job, bytes), at most every 200 ms."""

    jobs: tuple[tuple[int, int], ...]


class Closed(_Message, frozen=True):
    """Answer to Close: hex digests by algorithm, and how many bytes they cover."""

    job: int
    digests: dict[str, str]
    covered: int


Command = Hello | Open | Fetch | Hash | Drop | Close
Answer = Done | Failed | Moved | Closed


def encode(message: Command | Answer) -> bytes:
    """One line, with its newline."""
    return codec.encode(message) + b"\n"


def decode_command(line: bytes) -> Command:
    """The command in a line. Raises msgspec.ValidationError."""
    return codec.decode(line, Command)  # type: ignore[arg-type]


def decode_answer(line: bytes) -> Answer:
    """The answer in a line. Raises msgspec.ValidationError."""
    return codec.decode(line, Answer)  # type: ignore[arg-type]
