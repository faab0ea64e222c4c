"""Taking a model down, in an order that a crash at any point leaves for recovery to finish.

Announce (the ref moves to a `.trash-` name: from here on the model is gone), symlinks, trees that no other name
keeps, their blobs that no tree links to and nobody holds, and last the announcement itself. Every step may be
done again; being gone already is success.
"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from cached import failpoints, fsops
from cached.errors import Corrupt, NotFound
from cached.layout import Layout
from cached.store.blobs import Blobs, scan_blobs
from cached.store.holds import Holds
from cached.store.index import Index
from cached.store.records import Manifest, Ref, read_record
from cached.store.refs import Refs, drop_links, links_of, own_links
from cached.store.trees import Trees
from cached.types import Digest, TreeId


class Removal:
    """The executor. It decides about a tree or a blob under the lock that those who link to it take."""

    def __init__(
        self, layout: Layout, *, refs: Refs, trees: Trees, blobs: Blobs, index: Index, holds: Holds,
        unclaimed: Container[TreeId],
    ) -> None:  # fmt: skip
        self._layout = layout
        self._refs = refs
        self._trees = trees
        self._blobs = blobs
        self._index = index
        self._holds = holds
        self._unclaimed = unclaimed

    def finish(self, record: Path) -> int:
        """Carry out an announced removal; bytes freed. Raises OSError; call again to go on."""
        ref = read_record(record, Ref)
        freed = self._take_down(ref) if ref else 0
        fsops.unlink(record)
        fsops.fsync_dir(self._layout.refs)
        return freed

    def _take_down(self, ref: Ref) -> int:
        with self._holds.lock:
            self._drop_links(ref)
        failpoints.hit("remove.after_links")
        return sum(self._remove_tree(tree) for tree in sorted(ref.trees))

    def sweep(self) -> int:
        """Remove trees that no name keeps and blobs that nothing links to or holds; bytes freed. Raises OSError.

        Only when nothing unfinished may want them again. One lstat a blob: 100,000 take about a second.
        """
        freed = sum(self._remove_tree(tree) for tree in self._trees.all())
        gone = {digest: size for digest in scan_blobs(self._layout) if (size := self._remove_blob(digest)) is not None}
        self._index.forget(gone)
        return freed + sum(gone.values())

    def _drop_links(self, ref: Ref) -> None:
        again = self._refs.get(ref.name)
        kept = links_of(self._layout, again) if again else {}
        mine = {self._layout.model(ref.name), *(self._layout.model_at(ref.name, tree) for tree in ref.trees)}
        drop_links(self._layout, (path for path in own_links(self._layout) if path in mine - kept.keys()))

    def _remove_tree(self, tree: TreeId) -> int:
        with self._holds.lock:
            if self._refs.users_of(tree) or tree in self._unclaimed:
                return 0
            trash = self._trees.set_aside(tree)
        failpoints.hit("remove.after_rename")
        if trash:
            fsops.remove_folder(trash)
        failpoints.hit("remove.after_unlink")
        self._index.forget_tree(tree)
        return self._remove_blobs(tree)

    def _remove_blobs(self, tree: TreeId) -> int:
        manifest = self._manifest(tree)
        if manifest is None:
            return 0
        digests = sorted({file.digest for file in manifest.files})
        gone = {digest: size for digest in digests if (size := self._remove_blob(digest)) is not None}
        for shard in sorted({self._layout.shard(digest) for digest in gone}):
            fsops.fsync_dir(shard)
        failpoints.hit("remove.after_blobs")
        self._index.forget(gone)
        self._drop_manifest(tree)
        return sum(gone.values())

    def _drop_manifest(self, tree: TreeId) -> None:
        with self._holds.lock:
            if self._layout.tree(tree).exists() or tree in self._unclaimed:
                return  # published again meanwhile
            if fsops.unlink(self._layout.manifest(tree)):
                fsops.fsync_dir(self._layout.manifests)

    def _manifest(self, tree: TreeId) -> Manifest | None:
        try:
            return self._trees.manifest(tree)
        except (NotFound, Corrupt):
            return None  # removed in an earlier try, or damaged: then its blobs wait for the next sweep

    def _remove_blob(self, digest: Digest) -> int | None:
        """Bytes of the blob; None if it stays, or is gone already."""
        with self._holds.lock:
            return None if digest in self._holds else self._blobs.remove(digest)
