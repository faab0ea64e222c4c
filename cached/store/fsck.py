"""Looks at a whole root that no daemon runs on, and changes nothing: what is damaged, what a start will clean up, what
is not ours. Trusts neither the index nor what a start would have mended.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cached.layout import LAYOUT, RETIRED, SHARDS, STAGING, TEMP, TRASH, Layout
from cached.store.blobs import MODE, scan_blobs
from cached.store.records import (
    Lease,
    Manifest,
    ManifestFile,
    Pin,
    Ref,
    Version,
    WantList,
    read_named,
    read_record,
)
from cached.store.refs import own_links
from cached.types import Digest, TreeId

BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be. `what` is a path below the root."""

    what: str
    problem: str


@dataclass(slots=True)
class Report:
    """`problems`: content or records that are damaged. `notes`: what the next start cleans up, and strangers."""

    problems: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    blobs: int = 0
    bytes: int = 0
    trees: int = 0
    models: int = 0

    @property
    def clean(self) -> bool:
        """Whether nothing is damaged."""
        return not self.problems


def check(layout: Layout, *, quick: bool) -> Report:
    """Look at everything; `quick` leaves out reading the blobs. The caller has the root's lock. Raises OSError."""
    return _Check(layout, quick=quick).run()


class _Check:
    def __init__(self, layout: Layout, *, quick: bool) -> None:
        self._layout = layout
        self._quick = quick
        self._report = Report()
        self._sizes = {digest: size for digest, (size, _) in scan_blobs(layout).items()}
        self._refs, self._damaged_refs = read_named(layout.refs, Ref, lambda ref: layout.ref(ref.name))
        self._used = {tree for ref in self._refs for tree in ref.trees}

    def run(self) -> Report:
        self._version()
        for digest, size in sorted(self._sizes.items()):
            self._blob(digest, size)
        self._trees()
        self._models()
        self._records()
        self._leftovers()
        return self._report

    def _problem(self, path: Path, problem: str) -> None:
        self._report.problems.append(Finding(self._shown(path), problem))

    def _note(self, path: Path, note: str) -> None:
        self._report.notes.append(Finding(self._shown(path), note))

    def _shown(self, path: Path) -> str:
        return str(path.relative_to(self._layout.root))

    def _version(self) -> None:
        version = read_record(self._layout.version, Version)
        if version is None or version.layout != LAYOUT:
            self._problem(self._layout.version, f"it is not that of layout {LAYOUT}")

    def _blob(self, digest: Digest, size: int) -> None:
        path = self._layout.blob(digest)
        self._report.blobs += 1
        state = path.lstat()
        if stat.S_IMODE(state.st_mode) != MODE:
            self._problem(path, f"its mode is {stat.S_IMODE(state.st_mode):04o} instead of {MODE:04o}")
        if not self._quick:
            self._report.bytes += size
            if sha256_of(path) != digest:
                self._problem(path, "its content is not what its name says")

    def _trees(self) -> None:
        for path in sorted(self._layout.trees.iterdir()):
            tree = _tree_of(path.name)
            if tree is not None:
                self._report.trees += 1
                self._tree(tree)
            elif path.name.startswith(RETIRED):
                self._note(path, "damaged content that was replaced, kept while somebody may read it")
            elif not path.name.startswith("."):
                self._note(path, "it is not cached's")

    def _tree(self, tree: TreeId) -> None:
        """Damage of a tree that no model has is a note: it was taken out of service, and goes when nobody reads it."""
        top = self._layout.tree(tree)
        tell = self._problem if tree in self._used else self._note
        manifest = read_record(self._layout.manifest(tree), Manifest)
        if manifest is None or manifest.tree != tree:
            tell(top, "its manifest is missing or damaged")
            return
        copies = {path for ref in self._refs if ref.placed and ref.placed.tree == tree for path in ref.placed.copied}
        for file in manifest.files:
            problem = self._file_problem(top / file.path, file, copy=file.path in copies)
            if problem:
                tell(top / file.path, problem)
        for extra in sorted(set(_files(top)) - {file.path for file in manifest.files}):
            tell(top / extra, "its manifest does not have it")

    def _file_problem(self, path: Path, file: ManifestFile, *, copy: bool) -> str | None:
        try:
            state = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return "it is missing"
        if not stat.S_ISREG(state.st_mode) or state.st_size != file.size or stat.S_IMODE(state.st_mode) != MODE:
            return "it is not as it was published: kind, size or mode differ"
        if file.digest not in self._sizes:
            return "its blob is missing"
        if state.st_ino != self._layout.blob(file.digest).lstat().st_ino and not copy:
            return "it is not the inode of its blob"
        if copy and not self._quick and sha256_of(path) != file.digest:
            return "its content is not what its manifest says"
        return None

    def _models(self) -> None:
        for path in self._damaged_refs:
            self._problem(path, "it cannot be read")
        self._report.models = len(self._refs)
        for ref in self._refs:
            if ref.placed and not self._layout.tree(ref.placed.tree).is_dir():
                self._problem(self._layout.ref(ref.name), f"its tree {ref.placed.tree.short} is missing")
            if ref.placed and not self._layout.model(ref.name).is_dir():
                self._note(self._layout.model(ref.name), "the symlink is missing: the next start makes it")
        names = {ref.name for ref in self._refs}
        for path in own_links(self._layout):
            if not path.is_dir() or path.name.partition("@")[0] not in names:
                self._note(path, "the symlink leads nowhere, or no model has it: the next start removes it")

    def _records(self) -> None:
        layout = self._layout
        checks: tuple[tuple[Path, type[Any], Any], ...] = (
            (layout.leases, Lease, lambda lease: layout.lease(lease.id)),
            (layout.pins, Pin, lambda pin: layout.pin(pin.name)),
            (layout.wants, WantList, lambda wants: layout.want_list(wants.holder)),
            (layout.manifests, Manifest, lambda manifest: layout.manifest(manifest.tree)),
        )
        for folder, kind, path_of in checks:
            for path in read_named(folder, kind, path_of)[1]:
                self._problem(path, "it cannot be read, or is not called by what it says")

    def _leftovers(self) -> None:
        layout = self._layout
        for folder in (layout.root, *layout.folders):
            for path in sorted(folder.iterdir()):
                if path.name.startswith((TEMP, STAGING, TRASH)):
                    self._note(path, "unfinished work: the next start removes it")
        for path in sorted(layout.quarantine.iterdir()):
            self._note(path, "damaged content that was taken out of service")
        for shard in SHARDS:
            for path in (layout.blobs / shard).iterdir():
                if path.name not in self._sizes:
                    self._note(path, "it is not cached's")


def sha256_of(path: Path) -> str:
    """The digest of a file's content; "" if the medium cannot read it, which is damage. Raises OSError."""
    digest = hashlib.sha256()
    try:
        with path.open("rb", buffering=0) as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return ""
    return digest.hexdigest()


def _files(top: Path) -> Iterator[str]:
    for folder, _, names in os.walk(top):
        yield from (str((Path(folder) / name).relative_to(top)) for name in names)


def _tree_of(name: str) -> TreeId | None:
    try:
        return TreeId(name)
    except ValueError:
        return None
