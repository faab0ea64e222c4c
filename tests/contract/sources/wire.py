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


def sockets_to(port: int) -> int:
    """Connections of this process that lead to `port`, whoever holds them. A library that closes them when they
    are collected gives no ResourceWarning, so they are counted where the kernel shows them."""
    ours = _sockets()
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(row[2].partition(":")[2], 16) == port and row[3] != _LISTEN and row[9] in ours for row in rows)


_LISTEN = "0A"


def _sockets() -> set[str]:
    """Inode numbers."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the folder's own descriptor is closed by now
            kind, _, number = str(descriptor.readlink()).partition(":")
            if kind == "socket":
                found.add(number.strip("[]"))
    return found
