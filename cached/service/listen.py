"""Opens the two sockets, or says why it cannot. The unix socket of a dead daemon is replaced, a live one never."""

from __future__ import annotations

import errno
import os
import socket
import stat
from pathlib import Path

from cached.errors import CachedError, Conflict, NotAuthorized, Permanent

SOCKET_MODE = 0o660
"""Owner and group: whoever can open it may use the cache."""
PATH_MAX = 107
"""Bytes in sockaddr_un.sun_path, without its final NUL."""
BACKLOG = 1024


def unix_socket(path: Path) -> socket.socket:
    """A listening socket at `path`, mode 0660, its folder made (0755) where missing.

    Raises Conflict when a daemon answers there, Permanent for a path that cannot hold a socket.
    """
    if len(os.fsencode(path)) > PATH_MAX:
        raise Permanent(f"the socket path {path} is longer than {PATH_MAX} bytes", hint="choose a shorter --socket")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        _make_room(path)
        before = os.umask(0o777 & ~SOCKET_MODE)  # bind creates the file: it must never be wider, not even for a moment
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _refused(f"the socket {path}", error, "choose another with --socket") from error
    except CachedError:
        listener.close()
        raise
    return listener


def _make_room(path: Path) -> None:
    """Remove the socket of a daemon that is dead."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise Permanent(f"{path} exists and is not a socket", hint="choose another --socket, or remove the file")
    if _answers(path):
        raise Conflict(f"a daemon already serves {path}", hint="stop it, or choose another --socket and --root")
    path.unlink(missing_ok=True)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.0)  # a full backlog answers EAGAIN, and is alive
        try:
            probe.connect(str(path))
        except BlockingIOError:
            return True
        except ConnectionRefusedError:
            return False
    return True


def tcp_socket(address: str, port: int) -> socket.socket:
    """A listening socket; port 0 picks one. Raises Conflict when it is taken, Permanent for a wrong address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=BACKLOG)
    except OSError as error:
        hint = "set `port` (or --port; 0 picks a free one) or `address`"
        raise _refused(f"port {port} of {address}", error, hint) from error


def _refused(what: str, error: OSError, hint: str) -> CachedError:
    kind = {
        errno.EADDRINUSE: Conflict,
        errno.EACCES: NotAuthorized,
        errno.EPERM: NotAuthorized,
    }.get(error.errno or 0, Permanent)
    return kind(f"cannot listen on {what}: {error.strerror or error}", hint=hint)
