"""The SELinux label that lets every container read what is published, on nodes where SELinux is on.

Without a category (`s0` alone): a tree is shared by pods that each have categories of their own.
"""

from __future__ import annotations

import errno
import functools
from pathlib import Path

from cached import fsops
from cached.fsops import File

LABEL = "system_u:object_r:container_file_t:s0"
_SWITCH = Path("/sys/fs/selinux/enforce")


@functools.cache
def is_on() -> bool:
    """Whether the kernel labels files. It cannot change while the machine runs."""
    return _SWITCH.exists()


def make_readable(file: File) -> None:
    """Label a file or folder for containers. A mount that has its own label (`context=`) keeps it. Raises OSError."""
    if not is_on():
        return
    try:
        fsops.label(file, LABEL)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
