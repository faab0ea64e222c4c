"""The client of the HTTP API, over the daemon's unix socket: one method a call, plain blocking I/O.

It uses http.client alone, so that a command starts in a fraction of a second. Every failure leaves it as a
CachedError: the daemon's own answer as what the daemon raised, a socket that nobody serves as
DaemonUnreachable.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec

from cached import codec
from cached.api.types import ErrorBody, Event, ModelDetail, ModelList, ModelView, Removed, Status, Want
from cached.errors import (
    CachedError,
    Code,
    Conflict,
    Corrupt,
    InsufficientSpace,
    NotAuthorized,
    NotFound,
    Permanent,
    Retryable,
    Unsupported,
)
from cached.types import ModelName, State

T = TypeVar("T")

ANSWER_TIMEOUT = 60.0
"""Seconds that the daemon may be silent. It answers at once or within the time of a few disk writes, and an
event stream carries an empty line every 15 s."""
_CUT = "the daemon went away in the middle of an answer"

_KINDS: dict[Code, type[CachedError]] = {
    Code.INSUFFICIENT_SPACE: InsufficientSpace,
    Code.QUOTA_EXCEEDED: InsufficientSpace,
    Code.HOLDER_STALE: InsufficientSpace,
    Code.DISK_PRESSURE: InsufficientSpace,
    Code.NOT_AUTHORIZED: NotAuthorized,
    Code.NOT_FOUND: NotFound,
    Code.DIGEST_MISMATCH: Corrupt,
    Code.CORRUPT: Corrupt,
    Code.STALLED: Retryable,
    Code.SOURCE_UNAVAILABLE: Retryable,
    Code.TIMEOUT: Retryable,
    Code.DAEMON_UNREACHABLE: Retryable,
    Code.UNSUPPORTED: Unsupported,
    Code.INVALID_ARGUMENT: Permanent,
    Code.CONFLICT: Conflict,
    Code.INTERNAL: CachedError,
}


def error_of(body: ErrorBody) -> CachedError:
    """The error that `body` tells of, of the class that its code belongs to."""
    return _KINDS[body.code](body.message, code=body.code, hint=body.hint, details=body.details)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket. `wire` stays usable when http.client lets go of `sock`."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=ANSWER_TIMEOUT)
        self._path = path

    def connect(self) -> None:
        self.sock = self.wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.wire.settimeout(ANSWER_TIMEOUT)
        self.wire.connect(str(self._path))


class Client:
    """Speaks with the daemon behind `socket`. Each call opens a connection of its own.

    Every method raises CachedError: what the daemon answered, or DaemonUnreachable when nobody answers.
    """

    def __init__(self, socket: Path) -> None:
        self.socket = socket

    def prefetch(self, want: Want, *, move: bool = False) -> ModelView:
        """Ask for `want`; returns at once. With `move` a name that is in use turns to this URI."""
        return self._call("POST", f"/v1/prefetches{'?move=1' if move else ''}", ModelView, body=codec.encode(want))

    def models(self) -> tuple[ModelView, ...]:
        """Every model, by name."""
        return self._call("GET", "/v1/models", ModelList).models

    def model(self, name: ModelName) -> ModelDetail:
        """One model with its files. Raises NotFound."""
        return self._call("GET", f"/v1/models/{quote(name)}", ModelDetail)

    def remove(self, name: ModelName) -> Removed:
        """Drop the name and its demand. Raises NotFound."""
        return self._call("DELETE", f"/v1/models/{quote(name)}", Removed)

    def status(self) -> Status:
        """The cache in numbers."""
        return self._call("GET", "/v1/status", Status)

    def events(self, name: ModelName, *, deadline: float | None = None) -> Iterator[Event]:
        """A full snapshot, then changes, until the model is Ready, Failed or removed.

        The last event is one of these three: a stream that breaks off raises DaemonUnreachable (http.client
        takes a cut chunk for the end). `deadline` is a reading of time.monotonic(); past it a Retryable with code
        Timeout is raised. Raises NotFound.
        """
        ended = False
        with self._open("GET", f"/v1/models/{quote(name)}/events") as (connection, response):
            while line := self._next_line(connection, response, deadline):
                if line.strip():
                    event = _decode(line, Event)
                    ended = event.removed or event.model.state in {State.READY, State.FAILED}
                    yield event
            if not ended:
                raise self._unreachable(_CUT)

    def _next_line(
        self, connection: _UnixConnection, response: http.client.HTTPResponse, deadline: float | None
    ) -> bytes:
        left = ANSWER_TIMEOUT if deadline is None else min(ANSWER_TIMEOUT, deadline - time.monotonic())
        connection.wire.settimeout(max(left, 0.001))
        try:
            with self._mapped():
                return response.readline()
        except Retryable as error:
            if deadline is None or time.monotonic() < deadline:
                raise
            raise Retryable("the time given for waiting is over", code=Code.TIMEOUT) from error

    def _call(self, method: str, target: str, kind: type[T], *, body: bytes | None = None) -> T:
        with self._open(method, target, body) as (_, response), self._mapped():
            data = response.read()
        return _decode(data, kind)

    @contextlib.contextmanager
    def _open(
        self, method: str, target: str, body: bytes | None = None
    ) -> Iterator[tuple[_UnixConnection, http.client.HTTPResponse]]:
        connection = _UnixConnection(self.socket)
        try:
            with self._mapped():
                connection.request(method, target, body, {"Content-Type": "application/json"} if body else {})
                response = connection.getresponse()
                refused = response.read() if response.status >= 400 else b""
            if response.status >= 400:
                raise error_of(_decode(refused, ErrorBody))
            yield connection, response
        finally:
            connection.close()

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[None]:
        """Failures of the socket and of HTTP, as what they mean to the caller."""
        try:
            yield
        except PermissionError as error:
            raise NotAuthorized(
                f"no permission to use the socket {self.socket}", hint="run as root or as a member of its group"
            ) from error
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise self._unreachable(f"no daemon answers at {self.socket}") from error
        except TimeoutError as error:
            raise self._unreachable(f"the daemon has been silent for {ANSWER_TIMEOUT:.0f} s") from error
        except (http.client.HTTPException, ConnectionError) as error:
            raise self._unreachable(_CUT) from error
        except OSError as error:
            raise self._unreachable(f"cannot use the socket {self.socket}: {error}") from error

    def _unreachable(self, message: str) -> Retryable:
        return Retryable(
            message,
            code=Code.DAEMON_UNREACHABLE,
            hint="start it with `cached serve`, or name its socket with --socket or CACHED_SOCKET",
        )


def _decode(data: bytes, kind: type[T]) -> T:
    try:
        return codec.decode(data, kind)
    except msgspec.MsgspecError as error:
        raise CachedError(
            f"the daemon's answer makes no sense here: {error}", hint="daemon and command are of different versions"
        ) from error
