"""One request and the reply to it, as plain values: answers and faults are functions between the two."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import parse_qsl, unquote_to_bytes

from tests.helpers.hostile.content import Content, Literal

_RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)")


class Op(enum.StrEnum):
    """What a request is about; faults are declared for one of these."""

    GET = "GET"
    HEAD = "HEAD"
    LIST = "LIST"
    BUCKET = "BUCKET"
    OTHER = "OTHER"


@dataclass(slots=True)
class Request:
    """A request as it came. `status` and `sent` are filled in when it is answered."""

    method: str
    target: str
    headers: dict[str, str]
    """Lower-case names."""
    repeats: int = 0
    """How many requests with this very target came before."""
    age: float = 0.0
    """Seconds since the first of them."""
    status: int = 0
    sent: int = 0
    """Payload bytes of objects and files that went out."""

    @property
    def path(self) -> str:
        """`bucket/key`, decoded once."""
        raw = self.target.partition("?")[0].removeprefix("/")
        return unquote_to_bytes(raw).decode(errors="surrogateescape")

    @property
    def bucket(self) -> str:
        return self.path.partition("/")[0]

    @property
    def key(self) -> str:
        return self.path.partition("/")[2]

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    @property
    def range(self) -> str | None:
        return self.headers.get("range")

    @property
    def op(self) -> Op:
        if self.method == "HEAD":
            return Op.HEAD if self.key else Op.BUCKET
        if self.method != "GET":
            return Op.OTHER
        return Op.LIST if not self.key and "list-type" in self.query else Op.GET


def span(header: str | None, size: int) -> tuple[int, int] | None:
    """[start, stop) that a Range header asks for in `size` bytes; None: it asks for none that can be read.

    A start at or behind the end gives an empty span, which is a 416.
    """
    match = _RANGE.fullmatch(header or "")
    if not match or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(size, int(last) + 1) if last else size


class Ending(enum.Enum):
    """What becomes of the connection after the body."""

    KEEP = enum.auto()
    CLOSE = enum.auto()
    RESET = enum.auto()
    STALL = enum.auto()
    HALF_CLOSE = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back: a head, then bytes [start, stop) of `whole`, then `extra`."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    whole: Content = field(default_factory=lambda: Literal(b""))
    start: int = 0
    stop: int = 0
    extra: bytes = b""
    payload: bool = False
    """The body is an object's or a file's content; only such bytes are counted."""
    chunked: bool = False
    cut: int | None = None
    """Body bytes after which sending stops, whatever was promised."""
    mute: bool = False
    """Not even the head is sent."""
    rate: int | None = None
    """Bytes a second for this reply."""
    ending: Ending = Ending.KEEP

    @classmethod
    def text(cls, status: int, body: str, *, content_type: str = "text/plain", **headers: str) -> Self:
        """A reply with a small body; `x_amz_id` gives the header `x-amz-id`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        reply = cls(status=status, headers={"Content-Type": content_type, **named})
        return reply.body(Literal(body.encode(errors="surrogateescape")))

    def body(self, whole: Content, start: int = 0, stop: int | None = None) -> Self:
        """The same reply with [start, stop) of `whole` and the Content-Length of that."""
        end = whole.size if stop is None else stop
        sized = replace(self, whole=whole, start=start, stop=end)
        return sized.head(Content_Length=str(end - start))

    def head(self, **headers: str | None) -> Self:
        """The same reply with headers set, or removed where None; `_` stands for `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        lower = {name.lower() for name in named}
        kept = {name: value for name, value in self.headers.items() if name.lower() not in lower}
        return replace(self, headers=kept | {name: value for name, value in named.items() if value is not None})
