"""The cache root itself: may it lie here, is it ours, is it complete.

Makes the folders of an empty root and the two files that name it; leaves whatever else lies there alone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import uuid
from pathlib import Path

from cached import codec, fsops
from cached.errors import Permanent
from cached.layout import LAYOUT, SHARDS, Layout
from cached.store.records import Version, read_record

TAG = b"""Signature: 8a477f597d28d172789f06886806bc55
# This file marks a cache directory: backup programs may leave it out. See https://bford.info/cachedir/
"""

# statfs(2) f_type, from linux/magic.h and each file system's own headers. FUSE stands for sshfs, s3fs and the like.
NETWORK = {
    0x6969: "NFS",
    0x517B: "SMB",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB2",
    0x00C36400: "CephFS",
    0x01021997: "9p",
    0x65735546: "FUSE",
    0x5346414F: "AFS",
    0x0BD00BD0: "Lustre",
    0x47504653: "GPFS",
    0x19830326: "BeeGFS",
    0x01161970: "GFS2",
    0x7461636F: "OCFS2",
}
MEMORY = {0x01021994: "tmpfs", 0x858458F6: "ramfs"}
OVERLAY = 0x794C7630


def check_place(root: Path, *, allow_root_filesystem: bool, allow_network_filesystem: bool) -> tuple[str, ...]:
    """Raises Permanent unless a cache may lie in the existing folder `root`; warnings for a place that is odd."""
    if os.statvfs(root).f_flag & os.ST_RDONLY:
        raise Permanent(f"{root} is on a read-only file system", hint="remount it read-write, or choose another --root")
    kind = filesystem(root)
    if kind in NETWORK and not allow_network_filesystem:
        raise Permanent(
            f"{root} is on a network file system ({NETWORK[kind]}), where locks and hard links fail in ways that "
            "lose models",
            hint="use a local disk; allow_network_filesystem: true overrides this",
        )
    if root.stat().st_dev == Path("/").stat().st_dev and not allow_root_filesystem:
        raise Permanent(
            f"{root} is on the file system that holds /, and a full cache would harm the whole node",
            hint="give the cache a disk of its own; allow_root_filesystem: true overrides this",
        )
    return _warnings(root, kind)


def _warnings(root: Path, kind: int) -> tuple[str, ...]:
    if kind in MEMORY:
        return (f"{root} is on {MEMORY[kind]}: models fill the machine's memory and are gone after a reboot",)
    if kind == OVERLAY:
        return (f"{root} is inside a container's overlay: models are gone when the container is",)
    return ()


def filesystem(path: Path) -> int:
    """The f_type of statfs(2), which Python's statvfs leaves out. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(256)  # struct statfs is 120 bytes; f_type comes first
    if libc.statfs(os.fsencode(path), buffer) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(path))
    return ctypes.c_ulong.from_buffer(buffer).value & 0xFFFFFFFF


def make_root(root: Path) -> None:
    """The folder itself, with its parents. Raises Permanent if it is something else, OSError."""
    if root.exists() and not root.is_dir():
        raise Permanent(f"the cache root {root} is not a folder", hint="choose another --root")
    for folder in reversed((root, *root.parents)):
        if not folder.exists():
            fsops.mkdir(folder)


def prepare(layout: Layout) -> Version:
    """Complete the folders and files of a root that this process has locked; what VERSION says.

    Raises Permanent for an unknown layout or a damaged VERSION, OSError.
    """
    version = _check_version(layout)
    _make_folders(layout)
    if not layout.cachedir_tag.exists():
        fsops.write_file(layout.cachedir_tag, TAG)
    if version is None:  # last: from here on the root is whole
        version = Version(layout=LAYOUT, uuid=str(uuid.uuid4()))
        fsops.write_file(layout.version, codec.encode(version))
    return version


def _check_version(layout: Layout) -> Version | None:
    version = read_record(layout.version, Version)
    if version is None and layout.version.exists():
        raise Permanent(
            f"{layout.version} is damaged, so it is not clear how this cache is laid out",
            hint="move the root away and let the daemon start with an empty one",
        )
    used = (layout.trees, layout.refs, layout.models, layout.ingests, layout.manifests, layout.aliases)
    if version is None and any(folder.is_dir() and any(folder.iterdir()) for folder in used):
        raise Permanent(
            f"{layout.root} has no VERSION file but holds things where a cache would put its own",
            hint="choose an empty folder as --root",
        )
    if version and version.layout != LAYOUT:
        raise Permanent(
            f"{layout.root} has layout {version.layout}, and this program knows only layout {LAYOUT}",
            hint="run the release of cached that wrote it, or choose another --root",
        )
    return version


def _make_folders(layout: Layout) -> None:
    made = [folder for folder in layout.folders if fsops.mkdir(folder)]
    shards = [fsops.mkdir(layout.blobs / shard) for shard in SHARDS]
    if any(shards):
        fsops.fsync_dir(layout.blobs)
    for parent in {folder.parent for folder in made}:
        fsops.fsync_dir(parent)


def folds_names(layout: Layout) -> bool:
    """Whether the file system takes two spellings for one name (case, or Unicode form). Raises OSError."""
    probe = fsops.temporary(layout.root)
    spelled = probe.with_name(probe.name + "-\u00e9")
    fsops.create(spelled).close()
    try:
        other_case = spelled.with_name(spelled.name.upper())
        other_form = spelled.with_name(probe.name + "-e\u0301")
        return other_case.exists() or other_form.exists()
    finally:
        fsops.unlink(spelled)


def refuse_foreign(error: OSError, root: Path) -> Permanent | None:
    """The error for a root that this process may not write, if that is what `error` says."""
    if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return None
    return Permanent(
        f"the cache root {root} cannot be written: {error.strerror} at {error.filename}",
        hint=f"it must be writable for the daemon's user (uid {os.geteuid()}), or choose another --root",
    )
