"""The derived index: when a blob's bytes were last proved, when a tree was last used.

SQLite in WAL mode, deletable at any moment. Nothing that decides correctness is only here: a missing row
means "never verified" or "not used since its ref was written". So every access is best effort by design: a
database that fails is set aside for the rest of the process's life (`broken` says so) and rebuilt from the
disk at the next start.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cached import fsops
from cached.types import Digest, TreeId

SCHEMA = 1
_TABLES = f"""
CREATE TABLE blobs (digest TEXT PRIMARY KEY, size INTEGER NOT NULL, sealed_at REAL NOT NULL, verified_at REAL NOT NULL)
  WITHOUT ROWID;
CREATE TABLE trees (tree TEXT PRIMARY KEY, used_at REAL NOT NULL, hits INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
PRAGMA user_version = {SCHEMA};
"""
NEVER = 0.0


class Index:
    """Thread-safe. Times in seconds since 1970 UTC, sizes in bytes."""

    def __init__(self, database: sqlite3.Connection, *, rebuilt: bool) -> None:
        self._database = database
        self._lock = threading.Lock()
        self.rebuilt = rebuilt
        """The file was absent, malformed or of another schema, and was made anew."""
        self.broken = False

    def reconcile(self, blobs: Mapping[Digest, tuple[int, float]]) -> None:
        """Make the rows those of the blobs on disk: (size, mtime) by digest. New rows are "never verified"."""
        rows = [(digest, size, mtime, NEVER) for digest, (size, mtime) in blobs.items()]
        with self._lock:
            try:
                with self._database as database:
                    database.execute("CREATE TEMP TABLE present (digest TEXT PRIMARY KEY, size INTEGER)")
                    database.executemany("INSERT INTO present VALUES (?, ?)", [row[:2] for row in rows])
                    database.execute("DELETE FROM blobs WHERE (digest, size) NOT IN (SELECT digest, size FROM present)")
                    database.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?, ?)", rows)
                    database.execute("DROP TABLE present")
            except sqlite3.Error:
                self.broken = True

    def sealed(self, blobs: Iterable[tuple[Digest, int]], *, at: float) -> None:
        """These were hashed and published just now."""
        rows = [(digest, size, at, at) for digest, size in blobs]
        self._write("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?)", rows)

    def verified_at(self, digest: Digest) -> float:
        """When its bytes were last proved; `NEVER` if that is not known."""
        found = self._read("SELECT verified_at FROM blobs WHERE digest = ?", digest)
        return float(found) if found is not None else NEVER

    def doubt(self, *, span: float) -> None:
        """What was sealed in the last `span` seconds before the last seal counts as never verified."""
        sql = "UPDATE blobs SET verified_at = ? WHERE sealed_at >= (SELECT max(sealed_at) FROM blobs) - ?"
        self._write(sql, [(NEVER, span)])

    def forget(self, digests: Iterable[Digest]) -> None:
        """These blobs are gone."""
        self._write("DELETE FROM blobs WHERE digest = ?", [(digest,) for digest in digests])

    def touch(self, tree: TreeId, *, at: float) -> None:
        """The tree was used: one hit more."""
        sql = "INSERT INTO trees VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET used_at = excluded.used_at, hits = hits + 1"
        self._write(sql, [(tree, at)])

    def used_at(self, tree: TreeId) -> float | None:
        """When it was last touched, if that is known."""
        found = self._read("SELECT used_at FROM trees WHERE tree = ?", tree)
        return None if found is None else float(found)

    def forget_tree(self, tree: TreeId) -> None:
        """The tree is gone."""
        self._write("DELETE FROM trees WHERE tree = ?", [(tree,)])

    def fact(self, name: str) -> str | None:
        """A remark kept from the last run, such as the boot it ran in."""
        found = self._read("SELECT value FROM facts WHERE name = ?", name)
        return None if found is None else str(found)

    def note(self, name: str, value: str) -> None:
        """Keep a remark for the next run."""
        self._write("INSERT OR REPLACE INTO facts VALUES (?, ?)", [(name, value)])

    def close(self) -> None:
        """Fold the WAL into the file and let it go."""
        with self._lock:
            self._database.close()

    def _write(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
        with self._lock:
            if self.broken:
                return
            try:
                with self._database as database:
                    database.executemany(sql, rows)
            except sqlite3.Error:
                self.broken = True

    def _read(self, sql: str, key: str) -> str | float | None:
        with self._lock:
            if self.broken:
                return None
            try:
                row = self._database.execute(sql, (key,)).fetchone()
            except sqlite3.Error:
                self.broken = True
                return None
        return row[0] if row else None


def open_index(path: Path) -> Index:
    """The index at `path`, made anew if it is absent, malformed or of another schema. Raises OSError."""
    database = _sound(path)
    if database is not None:
        return Index(database, rebuilt=False)
    for suffix in ("", "-wal", "-shm", "-journal"):
        fsops.unlink(path.with_name(path.name + suffix))
    try:
        database = _connect(path)
        database.executescript(_TABLES)
    except sqlite3.Error as error:
        raise OSError(None, f"the index cannot be made ({error})", str(path)) from error
    return Index(database, rebuilt=True)


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    return database


def _sound(path: Path) -> sqlite3.Connection | None:
    if not path.exists():
        return None
    try:
        database = _connect(path)
    except sqlite3.Error:
        return None
    try:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        (verdict,) = database.execute("PRAGMA quick_check").fetchone()
        for table in ("blobs", "trees", "facts"):
            database.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()  # noqa: S608  names are literals
    except sqlite3.Error:
        database.close()
        return None
    if version != SCHEMA or verdict != "ok":
        database.close()
        return None
    return database
