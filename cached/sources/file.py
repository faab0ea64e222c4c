"""file:// as a source: a file or folder of this machine, copied in, never linked to.

Only below the folder that a rule lists. A symlink is read when what it points to lies below that folder too
(hub snapshot folders are made of such links); one that leads outside is refused, and so is anything that is
not a regular file or a folder.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from cached import blocking
from cached.errors import CachedError, NotAuthorized, NotFound, Permanent, Retryable, Unsupported
from cached.sources.base import Entry, Listing, Pin, Request, file_validator
from cached.sources.pins import revision_of
from cached.types import Uri


class FileSource:
    """See `cached.sources.base.Source`. `prefix` is the rule's, such as `file:///srv/models/`."""

    scheme: ClassVar[str] = "file"

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._folder = _path_of(Uri(prefix))

    async def resolve(self, uri: Uri) -> Listing:
        """See `Source.resolve`."""
        return await blocking.look(self._resolve, uri)

    def request(self, listing: Listing, entry: Entry, *, fresh: bool = False) -> Request:  # noqa: ARG002
        """See `Source.request`; there is nothing to renew."""
        return Request(scheme="file", target=entry.locator)

    def confirm(self, entry: Entry, headers: Mapping[str, str]) -> Entry:  # noqa: ARG002
        """See `Source.confirm`; the worker compares the pin before and after it reads."""
        return entry

    async def close(self) -> None:
        """See `Source.close`; it holds nothing."""

    def _resolve(self, uri: Uri) -> Listing:
        start = _path_of(uri)
        try:
            entries = tuple(sorted(self._entries(start), key=lambda entry: entry.path))
        except OSError as error:
            raise _mapped(error, start) from error
        if not entries:
            raise NotFound(f"there is no file below {start}", hint="check the path")
        return Listing(uri=uri, entries=entries, revision=revision_of(entries), source_id="file://", rule=self._prefix)

    def _entries(self, start: Path) -> Iterator[Entry]:
        top = self._inside(start)
        if not top.is_dir():
            yield self._entry(top, start.name)
            return
        for folder, folders, files in os.walk(top, onerror=_raise):
            for name in (*folders, *files):
                path = _named(Path(folder, name))
                if name in files:
                    yield self._entry(self._inside(path), str(path.relative_to(top)))
                elif path.is_symlink():
                    raise Unsupported(f"{path} is a symlink to a folder", hint="name that folder's own path instead")

    def _inside(self, path: Path) -> Path:
        """The real path, below the rule's folder. Raises NotAuthorized, OSError."""
        # Not Path.resolve: before Python 3.13 it meets a circle of links with a RuntimeError.
        real = _named(Path(os.path.realpath(path, strict=True)))
        if not real.is_relative_to(self._folder.resolve()):
            raise NotAuthorized(f"{path} leads outside {self._folder}", hint="copy the file below the listed folder")
        return real

    def _entry(self, real: Path, path: str) -> Entry:
        found = real.stat()
        if not stat.S_ISREG(found.st_mode):
            raise Unsupported(f"{real} is neither a file nor a folder", hint="remove it")
        pin = file_validator(found)
        return Entry(
            path=path,
            size=found.st_size,
            pin=Pin(validator=pin, etag=pin),
            locator=str(real),
            alias=("file", pin),
        )


def _path_of(uri: Uri) -> Path:
    if not uri.rest.startswith("/"):
        raise Permanent(f"{uri} names a host", hint="write file:///folder, with three slashes")
    if ".." in uri.rest.split("/"):
        raise Permanent(f"{uri} has the segment '..'", hint="write the path out")
    return Path(uri.rest)


def _named(path: Path) -> Path:
    """`path` itself. Raises Permanent for bytes that are no UTF-8: no manifest, message or request can hold them."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise Permanent(f"the file name {str(path)!r} is not valid UTF-8", hint="rename the file") from error
    return path


def _raise(error: OSError) -> None:
    raise error


def _mapped(error: OSError, path: Path) -> CachedError:
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return NotFound(f"{error.filename or path} does not exist", hint="check the path")
        case PermissionError():
            return NotAuthorized(f"cannot read {error.filename or path}", hint="let the daemon's user read it")
        case OSError(errno=errno.ELOOP):
            return Permanent(f"{error.filename or path} is a circle of links", hint="remove the link")
        case _:
            return Retryable(f"cannot read {error.filename or path}: {error.strerror}", hint="check that disk")
