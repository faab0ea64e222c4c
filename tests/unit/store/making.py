"""How the store's tests make roots, downloads and models, and how they look at a root without trusting the store."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cached.api.types import Want
from cached.clock import Clock
from cached.config import Amount, Budget, Leases, Seconds
from cached.store.ingest import Ingest
from cached.store.records import ManifestFile, PartRecord, Placed, Ref
from cached.store.store import Store
from cached.types import Digest, Level, ModelKey, ModelName, TreeId, Uri

KEY = ModelKey("a" * 64)
URI = Uri("s3://bucket/model")


@dataclass
class StillClock:
    """A clock that a test sets."""

    now: float = 1_700_000_000.0

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


UNLIMITED = Budget(min_free=Amount("0"), grace=Seconds(0))
"""How full a machine's disk is must not decide a test, and nothing waits."""


NOBODY = Leases()


def open_store(root: Path, *, clock: Clock | None = None, budget: Budget = UNLIMITED, leases: Leases = NOBODY) -> Store:
    return Store.open(
        root,
        allow_root_filesystem=True,
        allow_network_filesystem=False,
        budget=budget,
        leases=leases,
        clock=clock or StillClock(),
    )


def digest_of(data: bytes) -> Digest:
    return Digest(hashlib.sha256(data).hexdigest())


def downloaded(store: Store, data: bytes, *, pin: str = "", resumable: bool = False) -> Ingest:
    """An ingest that a worker has written `data` into."""
    ingest = store.begin_ingest("test", pin or digest_of(data), len(data), resumable=resumable)
    with ingest.path.open("r+b") as file:
        file.write(data)
    return ingest


def sealed(store: Store, *contents: bytes) -> tuple[Digest, ...]:
    """Blobs of these contents."""
    items = [(downloaded(store, data), digest_of(data)) for data in contents]
    store.seal(items)
    return tuple(digest for _, digest in items)


def listed(files: Mapping[str, bytes]) -> list[ManifestFile]:
    return [ManifestFile(path, len(data), digest_of(data)) for path, data in files.items()]


def published(store: Store, files: Mapping[str, bytes]) -> TreeId:
    sealed(store, *set(files.values()))
    return store.publish(listed(files)).tree


def a_ref(name: str, tree: TreeId | None, *, copied: tuple[str, ...] = ()) -> Ref:
    ref = Ref(name=ModelName(name), want=Want(uri=URI), asked=1.0)
    if tree is None:
        return ref
    placed = Placed(tree=tree, key=KEY, uri=URI, revision="r1", rule="s3://", levels={}, copied=copied, at=1.0)
    return msgspec.structs.replace(ref, placed=placed)


def model(store: Store, name: str, files: Mapping[str, bytes]) -> Ref:
    """A whole model in place."""
    tree = published(store, files)
    ref = a_ref(name, tree)
    assert ref.placed
    levels = dict.fromkeys(files, Level.DIGEST)
    ref = msgspec.structs.replace(ref, placed=msgspec.structs.replace(ref.placed, levels=levels))
    store.put_ref(ref)
    return ref


def part(offset: int, length: int, *, checksum: int | None = None) -> PartRecord:
    return PartRecord(offset, length, f"{offset:032x}", checksum)


def snapshot(root: Path) -> dict[str, tuple[int, int, int, str]]:
    """Every path below a root with mode, inode, size of files, and target of symlinks; not the derived index."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.name.startswith(("index.sqlite", "daemon.lock")):
            continue
        state = path.lstat()
        size = state.st_size if stat.S_ISREG(state.st_mode) else 0
        target = str(path.readlink()) if path.is_symlink() else ""
        found[str(path.relative_to(root))] = (state.st_mode, state.st_ino, size, target)
    return found


def broken_promises(root: Path) -> list[str]:
    """What must hold at every instant, also right after a crash: PRESENT blobs are right, PUBLISHED trees whole,
    refs and symlinks point to published trees."""
    store_layout = root
    problems = [
        f"blob {path.name} has wrong bytes or mode"
        for path in store_layout.glob("blobs/sha256/??/*")
        if digest_of(path.read_bytes()) != path.name or stat.S_IMODE(path.stat().st_mode) != 0o444
    ]
    for tree in store_layout.glob("trees/[0-9a-f]*"):
        problems += _tree_problems(root, tree)
    problems += [f"symlink {path.name} dangles" for path in root.glob("models/[!.]*") if not path.is_dir()]
    for path in root.glob("refs/[!.]*.json"):
        placed = msgspec.json.decode(path.read_bytes())["placed"]
        if placed and not (root / "trees" / placed["tree"]).is_dir():
            problems.append(f"ref {path.name} points to no tree")
    return problems


def _tree_problems(root: Path, tree: Path) -> list[str]:
    text = (root / "manifests" / f"{tree.name}.json").read_bytes()
    wanted = {file["path"]: file["sha256"] for file in msgspec.json.decode(text)["files"]}
    found = {str(p.relative_to(tree)): digest_of(p.read_bytes()) for p in tree.rglob("*") if p.is_file()}
    return [] if wanted == found and digest_of(text) == tree.name else [f"tree {tree.name} is not its manifest"]


def leftovers(root: Path) -> list[str]:
    """What a recovered root must not have: temporaries, staging, trash."""
    return [str(path.relative_to(root)) for path in root.rglob(".*")]
