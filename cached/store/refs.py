"""Names: `refs/<name>.json` is the truth, the symlinks `models/<name>` and `models/<name>@<tree>` follow it.

Kept in memory after the start. A removal is announced by moving the ref to a `.trash-` name; what it must still
take down is read from there, so that recovery can finish it.
"""

from __future__ import annotations

import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from cached import codec, failpoints, fsops
from cached.errors import Conflict
from cached.layout import TRASH, Layout
from cached.store.records import Ref, read_named
from cached.types import ModelName, TreeId

MODE = 0o600
"""A URI may hold a signature; the daemon alone reads refs."""


class Refs:
    """Not thread-safe: the store calls it under its lock."""

    def __init__(self, layout: Layout, refs: dict[ModelName, Ref]) -> None:
        self._layout = layout
        self._refs = dict(refs)

    def all(self) -> dict[ModelName, Ref]:
        """A snapshot."""
        return dict(self._refs)

    def get(self, name: ModelName) -> Ref | None:
        """One ref."""
        return self._refs.get(name)

    def put(self, ref: Ref) -> None:
        """Step 10: the ref, then its symlinks, each durable. Raises Conflict, OSError."""
        fsops.write_file(self._layout.ref(ref.name), codec.encode(ref), mode=MODE)
        self._refs[ref.name] = ref
        failpoints.hit("ref.after_write")
        if ref.placed:
            point_links(self._layout, ref)
            failpoints.hit("ref.after_links")

    def announce_removal(self, ref: Ref) -> Path:
        """From here on the name is gone; the record that says what must follow."""
        record = self._layout.refs / f"{TRASH}{secrets.token_hex(8)}.json"
        fsops.rename(self._layout.ref(ref.name), record)
        fsops.fsync_dir(self._layout.refs)
        del self._refs[ref.name]
        return record

    def users_of(self, tree: TreeId) -> tuple[Ref, ...]:
        """The refs that keep a tree on disk."""
        return tuple(ref for ref in self._refs.values() if tree in ref.trees)


def links_of(layout: Layout, ref: Ref) -> dict[Path, str]:
    """Every symlink that a ref should have, with its target: the moving one, and one for each tree that is here."""
    wanted = {layout.model_at(ref.name, tree): _target(tree) for tree in ref.trees if layout.tree(tree).exists()}
    if ref.placed:
        wanted[layout.model(ref.name)] = _target(ref.placed.tree)
    return wanted


def _target(tree: TreeId) -> str:
    return f"../trees/{tree}"


def point_links(layout: Layout, ref: Ref) -> int:
    """Make the symlinks of a ref what they should be, durably; how many were not. Raises Conflict, OSError."""
    wrong = {path: target for path, target in links_of(layout, ref).items() if _read_link(path) != target}
    for path, target in wrong.items():
        fsops.replace_symlink(target, path)
    if wrong:
        fsops.fsync_dir(layout.models)
    return len(wrong)


def drop_links(layout: Layout, names: Iterator[Path]) -> None:
    """Remove symlinks, durably."""
    gone = [fsops.unlink(path) for path in names]
    if any(gone):
        fsops.fsync_dir(layout.models)


def own_links(layout: Layout) -> dict[Path, str]:
    """Every symlink in `models/` that points where only we point, with its target. Others are not ours."""
    found = {path: _read_link(path) for path in layout.models.iterdir() if path.is_symlink()}
    return {path: target for path, target in found.items() if target and target.startswith("../trees/")}


def _read_link(path: Path) -> str | None:
    """The target of a symlink; None if there is none. Raises Conflict for anything else of that name."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(mode):
        raise Conflict(f"{path} is not a symlink, so it is not cached's", hint="move it away, or choose another name")
    return str(path.readlink())


def read_refs(layout: Layout) -> tuple[dict[ModelName, Ref], tuple[Path, ...]]:
    """Every ref on disk, and the files named like one that are damaged. Raises OSError."""
    refs, damaged = read_named(layout.refs, Ref, lambda ref: layout.ref(ref.name))
    return {ref.name: ref for ref in refs}, damaged


def announced_removals(layout: Layout) -> list[Path]:
    """Records of removals that did not finish."""
    return sorted(layout.refs.glob(f"{TRASH}*.json"))
