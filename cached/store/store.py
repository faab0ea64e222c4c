"""The store's front door: synchronous, thread-safe, and the only thing that the engine imports from here to act.

Every OSError leaves as a CachedError. One lock (`Holds.lock`) orders what makes things reachable against what
takes them down; payload, syncs of blobs and the staging of trees happen outside of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from cached.api.types import HolderView, LeaseAsk, Renewed
from cached.clock import Clock
from cached.config import Budget, Leases
from cached.errors import NotFound
from cached.fsops import File
from cached.layout import Layout, check_tree_paths
from cached.store.holds import Hold
from cached.store.ingest import Ingest
from cached.store.lock import take_lock
from cached.store.opening import Parts, recover
from cached.store.oserrors import mapped
from cached.store.records import (
    Alias,
    Lease,
    Manifest,
    ManifestFile,
    Pin,
    Published,
    Ref,
    Usage,
    WantList,
    ingest_key,
    manifest_of,
)
from cached.store.root import check_place, folds_names, make_root, prepare, refuse_foreign
from cached.store.space import Reservation, disk
from cached.types import Digest, HolderName, LeaseId, ModelName, TreeId


class Store:
    """One open cache root. Made by `open`; after `close` of no more use."""

    def __init__(
        self, layout: Layout, parts: Parts, *, lock: File, clock: Clock, folds: bool, warnings: tuple[str, ...]
    ) -> None:
        self.layout = layout
        self.recovered = parts.report
        """What the start found and mended."""
        self.warnings = warnings
        """For the operator: the root lies in an odd place, or a stranger has a model's name."""
        self.folds = folds
        """The file system takes two spellings for one name; for `check_tree_paths`."""
        self._parts = parts
        self._lock = lock
        self._clock = clock

    @classmethod
    @mapped("open the cache root")
    def open(
        cls, root: Path, *, allow_root_filesystem: bool, allow_network_filesystem: bool, budget: Budget,
        leases: Leases, clock: Clock,
    ) -> Self:  # fmt: skip
        """Lock, complete and recover the cache root. Raises Conflict (another daemon; its pid), Permanent."""
        layout = Layout(root.absolute())
        try:
            make_root(layout.root)
            warnings = check_place(
                layout.root,
                allow_root_filesystem=allow_root_filesystem,
                allow_network_filesystem=allow_network_filesystem,
            )
            lock = take_lock(layout.lock)
        except OSError as error:
            raise refuse_foreign(error, layout.root) or error from error
        try:
            prepare(layout)
            folds = folds_names(layout)
            parts = recover(layout, budget=budget, leases=leases, clock=clock)
        except BaseException:
            lock.close()
            raise
        return cls(layout, parts, lock=lock, clock=clock, folds=folds, warnings=(*warnings, *parts.warnings))

    def close(self, *, clean: bool = True) -> None:
        """Give the root back. `clean` says that all work was ended in order; a start after one that was not,
        on another boot, doubts what was sealed last.
        """
        if clean:
            self._parts.index.note("clean", "yes")
        self._parts.index.close()
        self._lock.close()

    @mapped("see whether the download fits")
    def admit(self, total: int) -> Reservation:
        """Promise `total` bytes of disk. Raises InsufficientSpace with needed, free and reserved in its details."""
        return self._parts.space.admit(total)

    def allocated(self, source_id: str, pin: str, size: int) -> int:
        """Bytes that a partial of this object has on disk already: they need no admission."""
        return self._parts.ingests.allocated(ingest_key(source_id=source_id, pin=pin, size=size))

    @mapped("begin a download")
    def begin_ingest(self, source_id: str, pin: str, size: int, *, resumable: bool) -> Ingest:
        """Step 1: a preallocated data file for one object in one version, or the partial that was left of it.

        Without `resumable` nothing is kept across a restart and no bookkeeping is synced: for files of at
        most one part, where that would cost more than the download. Raises Conflict while the key
        is live in this process, InsufficientSpace.
        """
        return self._parts.ingests.begin(source_id=source_id, pin=pin, size=size, resumable=resumable)

    @mapped("publish downloaded bytes")
    def seal(self, items: Sequence[tuple[Ingest, Digest]]) -> None:
        """Steps 3 to 6 for a group whose sha256 is proved and whose writers have closed the files.

        They are held until it returns; who wants them longer adds them to a hold of its own before. After an
        error each ingest is spent (its blob is there, or its sync failed and it is gone) or still open.
        Raises Corrupt, CachedError.
        """
        with self.hold() as hold:
            for _, digest in items:
                hold.add(digest)
            self._parts.blobs.seal(items, at=self._clock.wall())

    @mapped("look for a blob")
    def blob_size(self, digest: Digest) -> int | None:
        """Bytes of a blob; None if it is not here."""
        return self._parts.blobs.size(digest)

    def hold(self) -> Hold:
        """A context manager; what is added to it is not removed before it ends."""
        return Hold(self._parts.holds, lambda digest: self._parts.blobs.size(digest) is not None)

    @mapped("look for an alias")
    def find_alias(self, rule: str, kind: str, value: str, size: int) -> Digest | None:
        """The blob that an upstream identity turned out to be, if it is still here with that size."""
        digest = self._parts.aliases.find((rule, kind, value, size))
        return digest if digest and self._parts.blobs.size(digest) == size else None

    @mapped("remember an alias")
    def remember_alias(self, rule: str, kind: str, value: str, size: int, digest: Digest) -> None:
        """Write down what an upstream identity turned out to be. Not synced: a lost alias is a miss."""
        self._parts.aliases.remember(Alias(rule=rule, kind=kind, value=value, size=size, digest=digest))

    @mapped("publish a model")
    def publish(self, files: Sequence[ManifestFile]) -> Published:
        """Steps 7 to 9: a tree of these files, all of whose blobs are here. Idempotent.

        It stays at least until a ref was put for it. Raises Permanent for paths that cannot be in one tree,
        NotFound or Corrupt when a blob is missing or not its size.
        """
        check_tree_paths((file.path for file in files), folds=self.folds)
        manifest = manifest_of(files)
        tree = manifest.tree
        with self.hold() as hold:
            for file in files:
                hold.add(file.digest)
            with self._parts.holds.lock:
                self._parts.unclaimed.add(tree)
                users = self._parts.refs.users_of(tree)
            placed = (user.placed for user in users if user.placed and user.placed.tree == tree)
            copies = frozenset(path for one in placed for path in one.copied)
            return self._parts.trees.publish(manifest, known_copies=copies)

    @mapped("read a manifest")
    def manifest(self, tree: TreeId) -> Manifest:
        """What a tree holds. Raises NotFound, Corrupt."""
        return self._parts.trees.manifest(tree)

    @mapped("record a model")
    def put_ref(self, ref: Ref) -> None:
        """Step 10: write a ref and, if it is placed, point its symlinks. Raises NotFound without the tree, Conflict."""
        with self._parts.holds.lock:
            if ref.placed and not self.layout.tree(ref.placed.tree).is_dir():
                raise NotFound(f"no tree {ref.placed.tree.short} for {ref.name}", hint="publish it first")
            if ref.placed:
                self._parts.leases.follow(ref.name, ref.placed.tree)
            self._parts.refs.put(ref)
            if ref.placed:
                self._parts.unclaimed.discard(ref.placed.tree)

    def refs(self) -> dict[ModelName, Ref]:
        """Every ref, by name; a snapshot."""
        with self._parts.holds.lock:
            return self._parts.refs.all()

    def ref(self, name: ModelName) -> Ref | None:
        """One ref."""
        with self._parts.holds.lock:
            return self._parts.refs.get(name)

    @mapped("remove a model")
    def remove(self, name: ModelName) -> int:
        """Drop a name, its trees that no other name keeps, and their blobs that nothing keeps; bytes freed.

        Raises NotFound. After another error the name is gone, and the next start frees the rest.
        """
        with self._parts.holds.lock:
            ref = self._parts.refs.get(name)
            if ref is None:
                raise NotFound(f"no model {name!r}", hint="`cachectl ls` shows what is here")
            self._parts.pins.drop(name)  # first: a crash in between must not leave it to the next model of that name
            record = self._parts.refs.announce_removal(ref)
        return self._parts.removal.finish(record)

    # ------------------------------------------------------------------ who keeps what

    @mapped("take a lease")
    def lease(self, identity: LeaseId, ask: LeaseAsk) -> Lease:
        """Keep what is asked for on disk while somebody reads it; durable once it returns.

        By name it holds what the name points to, what it will point to, and what it left after `ask.since`. Raises
        NotFound for a name or tree that is not here; Conflict when the id is another holder's, or the tree is just
        being evicted; CachedError.
        """
        lease = self._parts.leases.take(identity, ask, self._leased)
        if lease is None:
            what = f"model named {ask.name}" if ask.name else f"tree {ask.tree}"
            raise NotFound(f"there is no {what} to lease", hint="`cachectl ls` shows what is here")
        return lease

    @mapped("release a lease")
    def release(self, identity: LeaseId) -> Lease:
        """End a lease; what it held counts as used just now. Raises NotFound, CachedError."""
        lease = self._parts.leases.release(identity)
        if lease is None:
            raise NotFound(f"there is no lease {identity}", hint="`cachectl leases` shows them")
        self._touch_all(lease)
        return lease

    @mapped("renew a holder's leases")
    def renew(self, holder: HolderName, leases: Mapping[LeaseId, LeaseAsk]) -> Renewed:
        """Make these all that the holder has. What is not here is told as missing; what it no longer names counts as
        used just now. Raises Conflict, CachedError."""
        renewed, ended = self._parts.leases.renew(holder, leases, self._leased)
        for lease in ended:
            self._touch_all(lease)
        return renewed

    def _touch_all(self, lease: Lease) -> None:
        for tree in lease.trees:
            self.touch(tree)

    def _leased(self, ask: LeaseAsk) -> tuple[TreeId, ...] | None:
        """The trees that a lease is of; None if there is no such name or tree. Called under the lock."""
        if ask.tree is not None:
            return (ask.tree,) if self.layout.tree(ask.tree).is_dir() else None
        ref = self._parts.refs.get(ask.name) if ask.name else None
        if ref is None:
            return None
        since = self._clock.wall() if ask.since is None else ask.since
        left = [held.tree for held in ref.history if held.until is None or held.until >= since]
        trees = ([ref.placed.tree] if ref.placed else []) + left
        return tuple(dict.fromkeys(tree for tree in trees if self.layout.tree(tree).is_dir()))

    def leases(self) -> tuple[Lease, ...]:
        """Every lease, by id."""
        return self._parts.leases.all()

    def holders(self) -> tuple[HolderView, ...]:
        """Who holds leases, and the holders that the settings name."""
        return self._parts.leases.holders()

    @mapped("pin a model")
    def pin(self, name: ModelName) -> Pin:
        """Keep what the name points to. Raises NotFound, CachedError."""
        with self._parts.holds.lock:
            if self._parts.refs.get(name) is None:
                raise NotFound(f"there is no model named {name} to pin", hint="`cachectl ls` shows what is here")
            return self._parts.pins.put(name)

    @mapped("unpin a model")
    def unpin(self, name: ModelName) -> None:
        """Let it be evicted again. Raises NotFound, CachedError."""
        with self._parts.holds.lock:
            if not self._parts.pins.drop(name):
                raise NotFound(f"{name} is not pinned", hint="`cachectl ls` shows what is")

    def pins(self) -> tuple[Pin, ...]:
        """Every pin, by name."""
        with self._parts.holds.lock:
            return self._parts.pins.all()

    @mapped("record a want-list")
    def put_wants(self, wanted: WantList) -> None:
        """Replace a holder's list. Raises CachedError."""
        with self._parts.holds.lock:
            self._parts.wants.put(wanted)

    def want_lists(self) -> tuple[WantList, ...]:
        """Every want-list, by holder."""
        with self._parts.holds.lock:
            return self._parts.wants.all()

    @property
    def unread_wants(self) -> frozenset[str]:
        """Holders whose want-list could not be read at the start and has not been written since."""
        return frozenset(self._parts.wants.unread)

    @property
    def transitions(self) -> dict[str, int]:
        """How often each change of a state has happened since the start."""
        return self._parts.transitions.counts

    def record(self, transition: str) -> None:
        """Tell a change of the node's state in the place where all others are told."""
        self._parts.transitions.record(transition)

    @mapped("drop partial downloads")
    def drop_partials(self) -> int:
        """Remove every partial that nobody works on; bytes freed."""
        return self._parts.ingests.drop_idle()

    @mapped("sweep up what no model needs")
    def sweep(self) -> int:
        """Remove partials that nobody works on, and trees and blobs that no name keeps; bytes freed.

        For when no name waits for a download: until then they are what a resume goes on from.
        """
        freed = self._parts.ingests.drop_idle() + self._parts.removal.sweep()
        self._parts.aliases.sweep(lambda digest: self._parts.blobs.size(digest) is not None)
        return freed

    def touch(self, tree: TreeId) -> None:
        """The tree was used just now. Best effort: it is what eviction will order by."""
        self._parts.index.touch(tree, at=self._clock.wall())

    @mapped("measure the disk")
    def usage(self) -> Usage:
        """What is stored; cheap, counted as it comes and goes."""
        space, blobs = disk(self.layout.root), self._parts.blobs
        return Usage(
            blobs=blobs.count,
            bytes_blobs=blobs.bytes,
            bytes_partial=self._parts.ingests.partial_bytes,
            bytes_trash=0,
            bytes_quarantine=0,
            bytes_reserved=self._parts.space.reserved,
            disk_total=space.total,
            disk_free=space.free,
        )
