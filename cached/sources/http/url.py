"""A URL taken apart without changing a byte of it: what is signed or quoted stays as it is. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urljoin, urlsplit

from cached.errors import Code, Permanent, Unsupported
from cached.layout import check_relative_path
from cached.types import Uri

_WIRE = re.compile(r"[!-~]+")
_DOTS = {".", ".."}
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Url:
    """`text` is the whole URL without its fragment; `target` is path and query as they go on the wire."""

    text: str
    scheme: str
    host: str
    port: int
    target: str

    @property
    def place(self) -> str:
        """Without the query, which may hold a signature: for messages and identities."""
        return self.text.partition("?")[0]

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def parse_url(text: str) -> Url:
    """Raises Permanent for what is not a plain http or https URL on the wire."""
    text = text.partition("#")[0]
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _refused(text, str(error)) from error
    if not _WIRE.fullmatch(text):
        raise _refused(text, "it has a space, a control or a non-ASCII character; percent-encode it")
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise _refused(text, "it has no host, or is neither http nor https")
    if parts.username is not None:
        raise _refused(text, "credentials in a URL end up in logs")
    if _climbs(parts.path):
        raise _refused(text, "it has a '.' or '..' segment, which servers resolve each in their own way")
    target = (parts.path or "/") + (f"?{parts.query}" if "?" in text else "")
    return Url(text, parts.scheme, parts.hostname, port or DEFAULT_PORTS[parts.scheme], target)


def joined(base: Url, location: str) -> Url:
    """Where a redirect from `base` leads. Raises Permanent."""
    try:
        text = urljoin(base.text, location)
    except ValueError as error:
        raise Permanent(
            f"{base.place} redirects to what is no URL",
            code=Code.SOURCE_UNAVAILABLE,
            hint="the server is set up wrongly; try the URL with curl -IL",
        ) from error
    return parse_url(text)


def file_name(url: Url) -> str:
    """The last segment of the path, decoded. Raises Permanent: it is missing, or (Unsupported) cannot be stored."""
    try:
        name = unquote(urlsplit(url.text).path.rpartition("/")[2], errors="strict")
    except UnicodeDecodeError as error:
        raise Unsupported(f"the file name in {url.place} is not valid UTF-8", hint="rename it at the source") from error
    if not name or "/" in name:
        raise Permanent(f"{url.place} does not end in a file name", hint="name one file, not a folder")
    return check_relative_path(name)


def _climbs(path: str) -> bool:
    """Whether some server may read a dot segment in it, and so leave the prefix of a rule: many decode `%2f` before
    they resolve dots, some take a backslash for a slash, some drop what follows a `;` in a segment.
    """
    segments = unquote(path).replace("\\", "/").split("/")
    return any(segment.partition(";")[0] in _DOTS for segment in segments)


def _refused(text: str, reason: str) -> Permanent:
    return Permanent(f"{Uri(text).shown} cannot be fetched: {reason}", hint="correct the URL")
