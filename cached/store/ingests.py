"""All ingests of the process: one owner a key, adoption of what an earlier owner left, and their bytes on disk."""

from __future__ import annotations

import re
import threading

from cached import fsops
from cached.errors import Conflict
from cached.layout import Layout
from cached.store.ingest import Ingest, adopt_files, adoptable, create_files, data_path, new_meta
from cached.store.records import IngestMeta, ingest_key
from cached.types import IngestKey


class Ingests:
    """Thread-safe. `partial_bytes` counts every data file in `ingest/`, live or waiting."""

    def __init__(self, layout: Layout, *, sizes: dict[IngestKey, int]) -> None:
        """`sizes` are the partials that recovery kept."""
        self._layout = layout
        self._lock = threading.Lock()
        self._live: set[IngestKey] = set()
        self._sizes = dict(sizes)

    @property
    def partial_bytes(self) -> int:
        """Bytes allocated below `ingest/`."""
        with self._lock:
            return sum(self._sizes.values())

    def allocated(self, key: IngestKey) -> int:
        """Bytes that an ingest of this key has on disk already."""
        with self._lock:
            return self._sizes.get(key, 0)

    def begin(self, *, source_id: str, pin: str, size: int, resumable: bool) -> Ingest:
        """Adopt or create. Raises Conflict if the key is live, InsufficientSpace, OSError."""
        key = ingest_key(source_id=source_id, pin=pin, size=size)
        self._claim(key)
        try:
            meta = new_meta(source_id=source_id, pin=pin, size=size)
            ingest = self._open(key, meta) if resumable else self._open_flat(key, meta)
        except BaseException:
            self._release(key, size=0)
            raise
        with self._lock:
            self._sizes[key] = size
        return ingest

    def drop_idle(self) -> int:
        """Remove every partial that nobody works on; bytes freed. Raises OSError."""
        freed = 0
        with self._lock:
            for key in self._sizes.keys() - self._live:
                fsops.remove_folder(self._layout.ingest(key))
                freed += self._sizes.pop(key)
        return freed

    def _claim(self, key: IngestKey) -> None:
        with self._lock:
            if key in self._live:
                raise Conflict(
                    f"the object with ingest key {key[:12]} is being fetched already",
                    hint="wait for the download that owns it",
                )
            self._live.add(key)

    def _release(self, key: IngestKey, *, size: int) -> None:
        with self._lock:
            self._live.discard(key)
            if size:
                self._sizes[key] = size
            else:
                self._sizes.pop(key, None)

    def _done(self, ingest: Ingest, kept: bool) -> None:  # noqa: FBT001  a callback with one meaning
        self._release(ingest.key, size=ingest.size if kept else 0)

    def _open(self, key: IngestKey, meta: IngestMeta) -> Ingest:
        folder = self._layout.ingest(key)
        if not fsops.mkdir(folder):
            adopted = adopt_files(folder)
            if adopted:
                found, data, journaled, parts = adopted
                return Ingest(
                    folder, found, resumable=True, data=data, journaled=journaled, parts=parts, done=self._done
                )
            fsops.remove_folder(folder)
            fsops.mkdir(folder)
        try:
            fsops.fsync_dir(self._layout.ingests)
            data, fresh = create_files(folder, meta, resumable=True)
        except BaseException:
            fsops.remove_folder(folder)
            raise
        return Ingest(folder, meta, resumable=True, data=data, journaled=fresh, parts=(), done=self._done)

    def _open_flat(self, key: IngestKey, meta: IngestMeta) -> Ingest:
        if self.allocated(key):  # a partial from when parts were smaller
            fsops.remove_folder(self._layout.ingest(key))
        folder = self._layout.ingests
        data, _ = create_files(folder, meta, resumable=False)
        return Ingest(folder, meta, resumable=False, data=data, journaled=None, parts=(), done=self._done)


def clean_ingests(layout: Layout) -> tuple[dict[IngestKey, int], int]:
    """For recovery: what can be gone on with stays (sizes by key), the rest of our folders goes (how many).

    What is not named like an ingest is not ours and is left alone.
    """
    kept: dict[IngestKey, int] = {}
    dropped = sum(fsops.unlink(path) for path in sorted(layout.ingests.iterdir()) if _is_flat(path.name))
    for folder in sorted(layout.ingests.iterdir()):
        try:
            key = IngestKey(folder.name)
        except ValueError:
            continue
        meta = adoptable(folder)
        if meta is None:
            fsops.remove_folder(folder)
            dropped += 1
            continue
        kept[key] = meta.size
        for path in folder.iterdir():
            if path.name not in {"meta.json", data_path(folder, meta).name, f"parts.{meta.generation}"}:
                fsops.unlink(path)
    return kept, dropped


def _is_flat(name: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{64}\.[0-9a-f]{16}", name) is not None
