"""Values that the whole project shares, checked once where they enter.

Each is a `str` that cannot be built from bad text, so code that holds one never checks it again, and it
reads and writes JSON as plain text (see `cached.codec`). Anything that arrives from outside (a command
line, a request, a file on disk, a listing) is turned into one of these at once.
"""

from __future__ import annotations

import enum
import re
from typing import ClassVar, Self

_HEX64 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://(.+)", re.DOTALL)

NAME_MAX = 200
URI_MAX = 4096


class _Hex64(str):
    """64 lower-case hexadecimal characters. Raises ValueError for anything else."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if not _HEX64.fullmatch(text):
            raise ValueError(f"expected 64 lower-case hexadecimal characters, got {text[:80]!r}")
        return super().__new__(cls, text)


class Digest(_Hex64):
    """The sha256 of a file's content: the identity of a blob."""

    __slots__ = ()


class TreeId(_Hex64):
    """The sha256 of a manifest's canonical JSON: the identity of a tree. Equal content is one tree."""

    __slots__ = ()

    @property
    def short(self) -> str:
        """The first 12 characters, as in `models/<name>@<short>`."""
        return self[:12]


class ModelKey(_Hex64):
    """The sha256 of what was asked for (canonical URI, patterns): what single-flight is keyed by."""

    __slots__ = ()


class IngestKey(_Hex64):
    """The sha256 of (source id, validator, size): one upstream object in one version."""

    __slots__ = ()


class _Name(str):
    """A name that may stand as a file's: lower-case letters, digits, `.`, `_` and `-`, beginning and ending with a
    letter or digit, at most 200 characters. Raises ValueError.
    """

    __slots__ = ()
    kind: ClassVar[str]

    def __new__(cls, text: str) -> Self:
        if len(text) > NAME_MAX or not _NAME.fullmatch(text):
            raise ValueError(
                f"{text[:80]!r} is not a {cls.kind}: use lower-case letters, digits, '.', '_' and '-', "
                f"begin and end with a letter or digit, at most {NAME_MAX} characters"
            )
        return super().__new__(cls, text)


class ModelName(_Name):
    """The name a model is published under: a file name below `models/`."""

    __slots__ = ()
    kind = "model name"


class LeaseId(_Name):
    """What its holder calls a lease; unique on the node."""

    __slots__ = ()
    kind = "lease id"


class HolderName(_Name):
    """Who holds leases or wants models, such as `csi`, `node`, `cachectl`."""

    __slots__ = ()
    kind = "holder name"


class Namespace(str):
    """Whose model it is: a Kubernetes namespace (RFC 1123 label, at most 63 characters). Raises ValueError."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if not _NAMESPACE.fullmatch(text):
            raise ValueError(
                f"{text[:80]!r} is not a namespace: use lower-case letters, digits and '-', begin and end with "
                "a letter or digit, at most 63 characters"
            )
        return super().__new__(cls, text)


class Uri(str):
    """`<scheme>://<rest>` with the scheme in lower case; the rest is literal. Raises ValueError.

    For s3 the path is the key itself: `#`, `?`, `%20`, `+`, spaces and Unicode are key characters.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        scheme, separator, rest = text.partition("://")
        match = _SCHEME.fullmatch(scheme.lower() + separator + rest)
        if not match:
            raise ValueError(f"{text[:80]!r} is not a URI: expected scheme://..., such as s3://bucket/path")
        if "\0" in text or len(text.encode(errors="surrogatepass")) > URI_MAX:
            raise ValueError(f"a URI has no NUL character and at most {URI_MAX} bytes")
        return super().__new__(cls, match.group(0))

    @property
    def scheme(self) -> str:
        """What stands before `://`, such as `s3`."""
        return self.partition("://")[0]

    @property
    def rest(self) -> str:
        """What stands after `://`."""
        return self.partition("://")[2]

    @property
    def shown(self) -> str:
        """For messages: without the query of an http or https URL, which may hold a signature, and its user part."""
        if self.scheme not in {"http", "https"}:
            return str(self)
        authority, slash, path = self.rest.partition("?")[0].partition("/")
        return f"{self.scheme}://{authority.rpartition('@')[2]}{slash}{path}"


class Level(enum.StrEnum):
    """How well a file's bytes were proved, strongest first. A model's level is its weakest file's.

    digest: a sha256 that the user or the source promised. checksum: the source's own full-object checksum
    or plaintext MD5. alias: linked on the word of an upstream identity seen before on bytes hashed here.
    size: nothing but the length (and the sha256 taken here, which later copies are held to).
    """

    DIGEST = "digest"
    CHECKSUM = "checksum"
    ALIAS = "alias"
    SIZE = "size"

    @property
    def rank(self) -> int:
        """0 is the strongest."""
        return list(Level).index(self)


class LeaseKind(enum.StrEnum):
    """What reads a leased model: a CSI volume, a pod through hostPath, or a person's shell."""

    VOLUME = "volume"
    POD = "pod"
    SHELL = "shell"


class State(enum.StrEnum):
    """A model's state; every other code is a reason (`cached.errors.Code`)."""

    QUEUED = "Queued"
    DOWNLOADING = "Downloading"
    READY = "Ready"
    FAILED = "Failed"
    EVICTED = "Evicted"
