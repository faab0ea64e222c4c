"""Every error that crosses a boundary, sorted by what the caller does about it.

A `CachedError` says what failed, why (message) and what mends it (hint). Its `code` is the stable reason
shared by the HTTP API, the command line, metrics and Kubernetes conditions; `TABLE` maps it to an exit code
and an HTTP status. Foreign exceptions are mapped to these where they are caught first, nowhere else.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar


class Code(enum.StrEnum):
    """Stable reasons. A new one needs a row in `TABLE` and in docs/operations.md."""

    INSUFFICIENT_SPACE = "InsufficientSpace"
    QUOTA_EXCEEDED = "QuotaExceeded"
    HOLDER_STALE = "HolderStale"
    DISK_PRESSURE = "DiskPressure"
    NOT_AUTHORIZED = "NotAuthorized"
    NOT_FOUND = "NotFound"
    DIGEST_MISMATCH = "DigestMismatch"
    STALLED = "Stalled"
    SOURCE_UNAVAILABLE = "SourceUnavailable"
    UNSUPPORTED = "Unsupported"
    INVALID_ARGUMENT = "InvalidArgument"
    CONFLICT = "Conflict"
    TIMEOUT = "Timeout"
    DAEMON_UNREACHABLE = "DaemonUnreachable"
    CORRUPT = "Corrupt"
    INTERNAL = "Internal"


class Exit(enum.IntEnum):
    """Exit codes of the command line; `docs/operations.md` holds the table for people."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    NOT_AUTHORIZED = 4
    NO_SPACE = 5
    SOURCE_UNAVAILABLE = 6
    DIGEST_MISMATCH = 7
    TIMEOUT = 8
    DAEMON_UNREACHABLE = 9
    INTERRUPTED = 130
    NO_READER = 141
    """The reader of stdout went away: what a shell says of a program that SIGPIPE ended."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """What a code becomes at the two edges."""

    exit: Exit
    http: int


TABLE: Mapping[Code, Mapped] = {
    Code.INSUFFICIENT_SPACE: Mapped(Exit.NO_SPACE, 507),
    Code.QUOTA_EXCEEDED: Mapped(Exit.NO_SPACE, 507),
    Code.HOLDER_STALE: Mapped(Exit.NO_SPACE, 507),
    Code.DISK_PRESSURE: Mapped(Exit.NO_SPACE, 507),
    Code.NOT_AUTHORIZED: Mapped(Exit.NOT_AUTHORIZED, 403),
    Code.NOT_FOUND: Mapped(Exit.NOT_FOUND, 404),
    Code.DIGEST_MISMATCH: Mapped(Exit.DIGEST_MISMATCH, 422),
    Code.STALLED: Mapped(Exit.SOURCE_UNAVAILABLE, 504),
    Code.SOURCE_UNAVAILABLE: Mapped(Exit.SOURCE_UNAVAILABLE, 502),
    Code.UNSUPPORTED: Mapped(Exit.FAILED, 501),
    Code.INVALID_ARGUMENT: Mapped(Exit.USAGE, 400),
    Code.CONFLICT: Mapped(Exit.FAILED, 409),
    Code.TIMEOUT: Mapped(Exit.TIMEOUT, 504),
    Code.DAEMON_UNREACHABLE: Mapped(Exit.DAEMON_UNREACHABLE, 503),
    Code.CORRUPT: Mapped(Exit.FAILED, 500),
    Code.INTERNAL: Mapped(Exit.FAILED, 500),
}


class CachedError(Exception):
    """The root of the tree. `details` holds numbers and names for programs, never secrets."""

    default: ClassVar[Code] = Code.INTERNAL

    def __init__(
        self,
        message: str,
        *,
        code: Code | None = None,
        hint: str = "",
        details: Mapping[str, str | int] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default
        self.hint = hint
        self.details = dict(details or {})

    @property
    def exit_code(self) -> Exit:
        """What a command that ends with this error exits with."""
        return TABLE[self.code].exit

    @property
    def http_status(self) -> int:
        """What a request that ends with this error is answered with."""
        return TABLE[self.code].http


class Retryable(CachedError):
    """The same request may succeed later: try again after `retry_after` seconds, or with backoff."""

    default = Code.SOURCE_UNAVAILABLE

    def __init__(
        self,
        message: str,
        *,
        code: Code | None = None,
        hint: str = "",
        details: Mapping[str, str | int] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint, details=details)
        self.retry_after = retry_after


class Permanent(CachedError):
    """Asking again changes nothing until a person mends what the hint says."""

    default = Code.INVALID_ARGUMENT


class NotFound(Permanent):
    """What was named does not exist."""

    default = Code.NOT_FOUND


class Unsupported(Permanent):
    """A form that cached knows it does not serve."""

    default = Code.UNSUPPORTED


class NotAuthorized(Permanent):
    """The credentials, or the caller, may not read this."""

    default = Code.NOT_AUTHORIZED


class SourceChanged(Retryable):
    """The object is no longer the one that was pinned: drop its parts and resolve again."""


class Corrupt(CachedError):
    """Bytes are not what was promised; they were dropped and nothing was published."""

    default = Code.DIGEST_MISMATCH


class InsufficientSpace(CachedError):
    """The disk, the budget or a namespace's quota cannot hold it, now. Its code says which of them, or what keeps
    room from being made: InsufficientSpace, QuotaExceeded, HolderStale, DiskPressure."""

    default = Code.INSUFFICIENT_SPACE


class Conflict(CachedError):
    """It clashes with what is there, such as a name in use."""

    default = Code.CONFLICT
