"""Published trees: `trees/<tree>/...`, hard links to blobs under the names that the model's files have.

Owns steps 7 to 9 and the taking down of trees. A tree is complete from the moment it has its name, and its
name is never given twice; staging and trash lie in the same parent, because a 0555 folder can be renamed by
uid 0 without capabilities only there.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import threading
from collections.abc import Container, Sequence
from pathlib import Path

from cached import failpoints, fsops
from cached.errors import Code, Corrupt, NotFound
from cached.layout import STAGING, TRASH, Layout
from cached.store import selinux
from cached.store.blobs import MODE
from cached.store.records import Manifest, ManifestFile, Published, read_record
from cached.types import TreeId

FOLDER_MODE = 0o555


class Trees:
    """Thread-safe: who replaces or takes down a tree does it under `lock`."""

    def __init__(self, layout: Layout, lock: threading.RLock) -> None:
        self._layout = layout
        self._lock = lock

    def manifest(self, tree: TreeId) -> Manifest:
        """What the tree holds. Raises NotFound; Corrupt when the file is not what its name says; OSError."""
        path = self._layout.manifest(tree)
        manifest = read_record(path, Manifest)
        if manifest is not None and manifest.tree == tree:
            return manifest
        if path.exists():
            raise Corrupt(f"{path} is damaged", code=Code.CORRUPT, hint="prefetch the model again")
        raise NotFound(f"no manifest of tree {tree.short}", hint="prefetch the model again")

    def all(self) -> tuple[TreeId, ...]:
        """Every published tree, in order. Other names among them are not ours. Raises OSError."""
        return tuple(sorted(tree for path in self._layout.trees.iterdir() if (tree := _tree_of(path.name))))

    def publish(self, manifest: Manifest, *, known_copies: frozenset[str]) -> Published:
        """Steps 7 to 9. A sound tree that is there already is found, a damaged one replaced.

        The caller holds the blobs. `known_copies` are the paths that refs of this tree record as private copies.
        Raises NotFound or Corrupt when a blob is missing or not its size; OSError.
        """
        tree = manifest.tree
        fsops.write_file(self._layout.manifest(tree), manifest.encode())  # step 7
        failpoints.hit("publish.after_manifest")
        if self._is_sound(manifest, known_copies):
            self._finish(tree)
            return Published(tree, tuple(sorted(known_copies)))
        staging = self._layout.trees / f"{STAGING}{secrets.token_hex(8)}"
        try:
            copied = self._stage(manifest, staging)
            failpoints.hit("publish.after_stage")
            self._take_name(manifest, staging, known_copies | copied)
        finally:
            fsops.remove_folder(staging)
        failpoints.hit("publish.after_rename")
        self._finish(tree)
        failpoints.hit("publish.after_commit")
        return Published(tree, tuple(sorted(copied)))

    def _is_sound(self, manifest: Manifest, copies: frozenset[str]) -> bool:
        target = self._layout.tree(manifest.tree)
        return target.exists() and not damaged_files(self._layout, manifest, copies=copies)

    def _stage(self, manifest: Manifest, staging: Path) -> frozenset[str]:
        """Step 8: every folder and link under a name that recovery removes, durable; the paths that were copied."""
        folders = [staging, *(staging / folder for folder in _folders(manifest.files))]
        for folder in folders:
            fsops.mkdir(folder)
        copied = frozenset(file.path for file in manifest.files if not self._link(file, staging / file.path))
        for folder in reversed(folders):  # bottom-up; the top keeps 0755 until it has its name
            with fsops.open_dir(folder) as opened:
                selinux.make_readable(opened)
            if folder != staging:
                fsops.chmod_dir(folder, FOLDER_MODE)
            fsops.fsync_dir(folder)
        return copied

    def _link(self, file: ManifestFile, target: Path) -> bool:
        """Whether the file became a link; False for a private copy, when the inode has all the links it can have."""
        blob = self._layout.blob(file.digest)
        try:
            found = blob.lstat().st_size
        except FileNotFoundError:
            raise NotFound(f"the blob {file.digest[:12]} of {file.path!r} is not here", hint=_AGAIN) from None
        if found != file.size:
            raise Corrupt(
                f"the blob of {file.path!r} has {found} bytes instead of {file.size}", code=Code.CORRUPT, hint=_AGAIN
            )
        try:
            return fsops.link(blob, target)
        except OSError as error:
            if error.errno != errno.EMLINK:  # ext4: 65,000 links; think of the empty file
                raise
        fsops.copy_file(blob, target, mode=MODE)
        return False

    def _take_name(self, manifest: Manifest, staging: Path, copies: frozenset[str]) -> None:
        """Step 9, first half. Whoever comes second finds a sound tree and drops its own."""
        target = self._layout.tree(manifest.tree)
        with self._lock:
            while not fsops.rename_dir(staging, target):
                if self._is_sound(manifest, copies):
                    return
                trash = self.set_aside(manifest.tree)
                if trash:
                    fsops.remove_folder(trash)

    def _finish(self, tree: TreeId) -> None:
        """Step 9, second half: once the folder of trees is synced, the model is here for good."""
        seal_top(self._layout, tree)
        fsops.fsync_dir(self._layout.tree(tree))
        fsops.fsync_dir(self._layout.trees)

    def set_aside(self, tree: TreeId) -> Path | None:
        """Take the name from a tree, durably: the trash folder that the caller, or recovery, removes slowly."""
        trash = self._layout.trees / f"{TRASH}{secrets.token_hex(8)}"
        try:
            fsops.rename_dir(self._layout.tree(tree), trash)
        except FileNotFoundError:
            return None
        fsops.fsync_dir(self._layout.trees)
        return trash


def _tree_of(name: str) -> TreeId | None:
    try:
        return TreeId(name)
    except ValueError:
        return None


def seal_top(layout: Layout, tree: TreeId) -> None:
    """Give the top folder of a published tree its final mode. It is last: a 0555 folder is awkward to rename."""
    top = layout.tree(tree)
    if stat.S_IMODE(top.lstat().st_mode) != FOLDER_MODE:
        fsops.chmod_dir(top, FOLDER_MODE)


_AGAIN = "prefetch the model again"


def _folders(files: Sequence[ManifestFile]) -> list[str]:
    """Every folder of a tree below its top, parents first."""
    found: set[str] = set()
    for file in files:
        parent = os.path.dirname(file.path)  # noqa: PTH120  text, not a path of this machine
        while parent and parent not in found:
            found.add(parent)
            parent = os.path.dirname(parent)  # noqa: PTH120
    return sorted(found)


def damaged_files(layout: Layout, manifest: Manifest, *, copies: Container[str]) -> tuple[str, ...]:
    """Paths of a tree that are not as they were published: kind, size, mode, and the inode of the blob.

    A path of `copies` may be a private copy with one link instead. One lstat a file and one a blob.
    Raises OSError.
    """
    top = layout.tree(manifest.tree)
    return tuple(file.path for file in manifest.files if not _intact(layout, top, file, copy=file.path in copies))


def _intact(layout: Layout, top: Path, file: ManifestFile, *, copy: bool) -> bool:
    state, blob = _lstat(top / file.path), _lstat(layout.blob(file.digest))
    if not (state and blob and _as_published(state, file) and _as_published(blob, file)):
        return False
    return state.st_ino == blob.st_ino or (copy and state.st_nlink == 1)


def _as_published(state: os.stat_result, file: ManifestFile) -> bool:
    return stat.S_ISREG(state.st_mode) and state.st_size == file.size and stat.S_IMODE(state.st_mode) == MODE


def _lstat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def clean_trees(layout: Layout) -> tuple[int, int]:
    """For recovery: remove what was never published and what was taken down; how many of each."""
    staged = [path for path in layout.trees.iterdir() if path.name.startswith(STAGING)]
    trashed = [path for path in layout.trees.iterdir() if path.name.startswith(TRASH)]
    for path in (*staged, *trashed):
        fsops.remove_folder(path)
    return len(staged), len(trashed)
