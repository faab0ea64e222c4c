"""The edge between the kernel and the project: an OSError of the disk becomes an error that says what failed,
why, and what mends it.

Every public method of the store is `mapped`; inside the store OSErrors stay what they are.
"""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from cached.errors import CachedError, Code, InsufficientSpace, NotFound, Permanent

P = ParamSpec("P")
T = TypeVar("T")

_FULL = {errno.ENOSPC, errno.EDQUOT}
_REFUSED = {errno.EACCES, errno.EPERM}


def mapped(doing: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorator: an OSError out of the function becomes a CachedError that begins with "cannot `doing`"."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except OSError as error:
                raise explain(error, doing=doing) from error

        return call

    return decorate


def explain(error: OSError, *, doing: str) -> CachedError:
    """What an OSError means to the caller."""
    number = error.errno or 0
    where = f" at {error.filename}" if error.filename else ""
    message = f"cannot {doing}: {error.strerror or error}{where}"
    details: dict[str, str | int] = {"errno": errno.errorcode.get(number, str(number))}
    if number in _FULL:
        return InsufficientSpace(message, hint=_HINTS[errno.ENOSPC], details=details)
    if number == errno.ENOENT:
        return NotFound(message, details=details)
    if number == errno.ENAMETOOLONG:
        return Permanent(message, hint="leave the file out with --ignore, or use a shorter cache root", details=details)
    hint = _HINTS.get(number, "")
    if number == errno.EROFS or number in _REFUSED:
        return Permanent(message, code=Code.INTERNAL, hint=hint, details=details)
    return CachedError(message, hint=hint, details=details)


_HINTS = {
    errno.ENOSPC: "free space on the cache's file system, or remove models",
    errno.EROFS: "remount the cache's file system read-write; if the disk turned read-only, see the kernel log",
    errno.EACCES: f"the cache root and all below it must belong to the daemon's user (uid {os.geteuid()})",
    errno.EPERM: f"the cache root and all below it must belong to the daemon's user (uid {os.geteuid()})",
    errno.EIO: "the disk reports errors: see the kernel log, and move the cache to a healthy disk",
    errno.EXDEV: "mount the cache root as one volume with one mount point; hard links cannot cross mounts",
    errno.EMFILE: "raise the daemon's limit of open files",
    errno.ENFILE: "raise the machine's limit of open files",
}
