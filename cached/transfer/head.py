"""The head of an HTTP/1.x answer, parsed strictly (RFC 9112). Pure: bytes in, `Head` out.

Framing decides which bytes are payload, so whatever two readers could understand differently is refused:
folded lines, space before a colon, bare CR or LF, differing lengths. An answer that is merely unwelcome
(an error, another range) parses; `cached.transfer.accept` judges it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

HEAD_MAX = 64 << 10
"""Bytes of status line and headers."""

_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
_DIGITS = re.compile(r"[0-9]{1,19}")

_KEPT = frozenset(
    (
        "etag",
        "content-length",
        "content-range",
        "content-encoding",
        "content-type",
        "location",
        "retry-after",
        "last-modified",
        "digest",
        "repr-digest",
        "date",
    )
)
_KEPT_PREFIXES = ("x-amz-", "x-goog-", "ratelimit")


class BadHeadError(ValueError):
    """The head breaks HTTP's framing; the text says how."""


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers. Header names are lower case; values of a repeated name are joined with `, `."""

    status: int
    headers: Mapping[str, str]
    length: int | None
    """Content-Length, if the answer has one."""
    keep_alive: bool
    """Whether the connection may carry another request after this answer's body."""

    @property
    def transfer_encoding(self) -> str | None:
        """`chunked` or the like, in lower case; None when the body is framed by its length."""
        value = self.headers.get("transfer-encoding")
        return value.lower() if value is not None else None

    def kept(self) -> dict[str, str]:
        """The headers that the control process has a use for."""
        return {name: value for name, value in self.headers.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}


def parse_head(data: bytes) -> Head:
    """The head in `data`, which ends before the empty line. Raises BadHeadError."""
    status_line, *lines = data.split(b"\r\n")
    match = _STATUS_LINE.fullmatch(status_line)
    if not match:
        raise BadHeadError("the status line is not HTTP/1.0 or HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines:
        name, value = _field(line)
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    options = {option.strip().lower() for option in headers.get("connection", "").split(",")}
    return Head(
        status=int(match.group(2)),
        headers=headers,
        length=_length(headers.get("content-length")),
        keep_alive=match.group(1) == b"1" and "close" not in options,
    )


def _field(line: bytes) -> tuple[str, str]:
    match = _FIELD.fullmatch(line)
    if not match:
        folded = line[:1] in {b" ", b"\t"}
        raise BadHeadError("a header line is folded" if folded else "a header line is malformed")
    return match.group(1).decode("ascii").lower(), match.group(2).decode("latin-1")


def _length(value: str | None) -> int | None:
    if value is None:
        return None
    lengths = {item.strip() for item in value.split(",")}
    if len(lengths) != 1:
        raise BadHeadError("it names several different content lengths")
    text = lengths.pop()
    if not _DIGITS.fullmatch(text):
        raise BadHeadError("its content length is not a number")
    return int(text)
