"""Sends a source's request as a worker would, with no HTTP library between it and the socket."""

from __future__ import annotations

import contextlib
import socket
import ssl
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path

from cached.sources.base import Entry, Request

TIMEOUT = 20.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; header names in lower case. A file read answers 200 without headers."""

    status: int
    headers: dict[str, str]
    body: bytes


def fetch(request: Request, entry: Entry, span: tuple[int, int] | None = None) -> Answer:
    """Send `request` for [start, stop) of `entry`, or for all of it, held to its ETag."""
    if request.scheme == "file":
        data = Path(request.target).read_bytes()
        return Answer(200, {}, data[slice(*span)] if span else data)
    with contextlib.closing(_connect(request)) as connection:
        connection.sendall(_head(request, entry, span))
        answer = HTTPResponse(connection, method="GET")
        with contextlib.closing(answer):
            answer.begin()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())


def _connect(request: Request) -> socket.socket:
    plain = socket.create_connection((request.host, request.port), timeout=TIMEOUT)
    if request.scheme == "http":
        return plain
    trust = ssl.create_default_context(cafile=request.ca_file)
    try:
        return trust.wrap_socket(plain, server_hostname=request.host)
    except BaseException:
        plain.close()
        raise


def _head(request: Request, entry: Entry, span: tuple[int, int] | None) -> bytes:
    headers = [*request.headers, ("Connection", "close"), ("Accept-Encoding", "identity")]
    if span is not None:
        headers.append(("Range", f"bytes={span[0]}-{span[1] - 1}"))
    if entry.pin.etag and not any(name.lower() == "if-match" for name, _ in headers):
        headers.append(("If-Match", entry.pin.etag))
    lines = [f"GET {request.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("ascii")
