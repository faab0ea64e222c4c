"""Where things lie below the cache root, and which names may lie there. Pure: no I/O.

Names come from outside (listings, archives, command lines). They are checked here, once, at the boundary;
docs/on-disk-format.md is this module for people.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cached.errors import Unsupported
from cached.types import Digest, HolderName, IngestKey, LeaseId, ModelName, TreeId, Uri

LAYOUT = 1
SEGMENT_MAX = 255
PATH_MAX = 4095
STAGING = ".staging-"
TRASH = ".trash-"
RETIRED = ".retired-"
TEMP = ".tmp-"
SHARDS = tuple(f"{number:02x}" for number in range(256))

_DRIVE = re.compile(r"[A-Za-z]:($|/)")


@dataclass(frozen=True, slots=True)
class Layout:
    """Every path of a cache root."""

    root: Path

    @property
    def version(self) -> Path:
        return self.root / "VERSION"

    @property
    def cachedir_tag(self) -> Path:
        return self.root / "CACHEDIR.TAG"

    @property
    def lock(self) -> Path:
        return self.root / "daemon.lock"

    @property
    def endpoint(self) -> Path:
        return self.root / "endpoint.json"

    @property
    def index(self) -> Path:
        return self.root / "index.sqlite"

    @property
    def ingests(self) -> Path:
        return self.root / "ingest"

    @property
    def blobs(self) -> Path:
        return self.root / "blobs" / "sha256"

    @property
    def manifests(self) -> Path:
        return self.root / "manifests"

    @property
    def trees(self) -> Path:
        return self.root / "trees"

    @property
    def refs(self) -> Path:
        return self.root / "refs"

    @property
    def aliases(self) -> Path:
        return self.root / "aliases"

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def leases(self) -> Path:
        return self.root / "leases"

    @property
    def pins(self) -> Path:
        return self.root / "pins"

    @property
    def wants(self) -> Path:
        return self.root / "wants"

    @property
    def quarantine(self) -> Path:
        return self.root / "quarantine"

    @property
    def folders(self) -> tuple[Path, ...]:
        """Every folder of an empty root, parents first, without the shards."""
        return (
            self.ingests,
            self.blobs.parent,
            self.blobs,
            self.manifests,
            self.trees,
            self.refs,
            self.aliases,
            self.models,
            self.leases,
            self.pins,
            self.wants,
            self.quarantine,
        )

    def ingest(self, key: IngestKey) -> Path:
        return self.ingests / key

    def shard(self, digest: Digest) -> Path:
        return self.blobs / digest[:2]

    def blob(self, digest: Digest) -> Path:
        return self.shard(digest) / digest

    def manifest(self, tree: TreeId) -> Path:
        return self.manifests / f"{tree}.json"

    def tree(self, tree: TreeId) -> Path:
        return self.trees / tree

    def ref(self, name: ModelName) -> Path:
        return self.refs / f"{name}.json"

    def lease(self, identity: LeaseId) -> Path:
        return self.leases / f"{identity}.json"

    def pin(self, name: ModelName) -> Path:
        return self.pins / f"{name}.json"

    def want_list(self, holder: HolderName) -> Path:
        return self.wants / f"{holder}.json"

    def alias(self, key: str) -> Path:
        """`key` is the sha256 of (rule, kind, value, size)."""
        return self.aliases / f"{key}.json"

    def model(self, name: ModelName) -> Path:
        """The symlink that moves with the name."""
        return self.models / name

    def model_at(self, name: ModelName, tree: TreeId) -> Path:
        """The symlink that never moves."""
        return self.models / f"{name}@{tree.short}"


def check_relative_path(path: str) -> str:
    """`path` itself, if a file of that name may lie in a tree.

    Refused: empty, absolute, `.`, `..` and empty segments, NUL, backslash, drive letters, text that is not
    UTF-8, a segment over 255 bytes, a path over 4095. Raises Unsupported that says which.
    """
    problem = _path_problem(path)
    if problem:
        raise Unsupported(
            f"the file name {path[:200]!r} cannot be stored: {problem}",
            hint="rename it at the source, or leave it out with --ignore",
        )
    return path


def _path_problem(path: str) -> str | None:
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return "it is not valid UTF-8"
    if "\0" in path or "\\" in path:
        return "it holds a NUL character or a backslash"
    if _DRIVE.match(path):
        return "it begins with a drive letter"
    if len(encoded) > PATH_MAX:
        return f"it is longer than {PATH_MAX} bytes"
    for segment in path.split("/"):
        if segment in {"", ".", ".."}:
            return f"it has the segment {segment!r}, which would escape or repeat a folder"
        if len(segment.encode()) > SEGMENT_MAX:
            return f"a segment is longer than {SEGMENT_MAX} bytes"
    return None


def check_tree_paths(paths: Iterable[str], *, folds: bool = False) -> None:
    """Raises Unsupported unless these may be the files of one tree.

    Each passes `check_relative_path`, none comes twice, none is also a folder of another. With `folds` (the
    file system folds case or Unicode form) names that fold together count as the same.
    """
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        key = _fold(check_relative_path(path)) if folds else check_relative_path(path)
        if key in files:
            raise Unsupported(f"two files have the path {path!r} (the other is {files[key]!r})", hint=_LEAVE_OUT)
        files[key] = path
        for parent in _parents(key):
            folders.setdefault(parent, path)
    for key, path in files.items():
        if key in folders:
            raise Unsupported(f"{path!r} is a file and also the folder of {folders[key]!r}", hint=_LEAVE_OUT)


_LEAVE_OUT = "leave one of them out with --ignore"


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _parents(path: str) -> Iterable[str]:
    cut = path.rfind("/")
    while cut > 0:
        yield path[:cut]
        cut = path.rfind("/", 0, cut)


def slug(uri: Uri) -> ModelName:
    """The default name of a model: the URI in lower case, without its scheme and the query of a URL, other
    characters as `-`, cut to 100, then `-` and 8 hex of sha256(uri).
    """
    body = re.sub(r"[^a-z0-9]+", "-", Uri(uri.shown).rest.lower()).strip("-")[:100].strip("-") or "model"
    return ModelName(f"{body}-{hashlib.sha256(uri.encode(errors='surrogatepass')).hexdigest()[:8]}")
