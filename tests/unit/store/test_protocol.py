"""The commit protocol, operation by operation: what a crash may lose depends on nothing but this order."""

from __future__ import annotations

import re
from pathlib import Path

from cached import fsops
from cached.fsops import Op
from cached.store.store import Store
from tests.unit.store.making import a_ref, digest_of, downloaded, listed, part

DATA = b"weights"
DIGEST = digest_of(DATA)


class Record:
    """Operations as short lines, with random names and identities replaced by words."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.lines: list[str] = []

    def __call__(self, op: Op) -> None:
        text = f"{op.kind} {self._word(op.path)}" + (f" -> {self._word(op.to)}" if op.to else "")
        self.lines.append(text)

    def _word(self, path: Path) -> str:
        text = str(path).removeprefix(f"{self._root}/")
        text = re.sub(r"ingest/[0-9a-f]{64}", "ingest/K", text)
        text = re.sub(r"(data|parts)\.[0-9a-f]{16}", r"\1", text)
        text = re.sub(r"\.(tmp|staging|trash)-[0-9a-f]{16}", r".\1", text)
        text = text.replace(DIGEST, "D").replace(f"sha256/{DIGEST[:2]}", "sha256/ab")
        return re.sub(r"@[0-9a-f]{12}", "@T", re.sub(r"[0-9a-f]{64}", "T", text))


def test_step_1_allocates_before_it_writes_down_what_is_fetched(store: Store) -> None:
    record = Record(store.layout.root)
    with fsops.observed(record):
        store.begin_ingest("source", "pin", 7, resumable=True)
    assert record.lines == [
        "mkdir ingest/K",
        "fsync_dir ingest",
        "create ingest/K/data",
        "allocate ingest/K/data",
        "create ingest/K/parts",
        "create ingest/K/.tmp",
        "write ingest/K/.tmp",
        "fsync ingest/K/.tmp",
        "rename ingest/K/.tmp -> ingest/K/meta.json",
        "fsync_dir ingest/K",
    ]


def test_step_1_of_a_small_file_syncs_nothing(store: Store) -> None:
    record = Record(store.layout.root)
    with fsops.observed(record):
        ingest = store.begin_ingest("source", "pin", 7, resumable=False)
    name = f"ingest/K.{ingest.generation}"
    assert record.lines == [f"create {name}", f"allocate {name}"]


def test_step_2_makes_the_data_durable_before_the_journal_says_so(store: Store) -> None:
    ingest = downloaded(store, DATA, resumable=True)
    record = Record(store.layout.root)
    with fsops.observed(record):
        ingest.journal([part(0, 7)])
    assert record.lines == [
        "fdatasync ingest/K/data",
        "write ingest/K/parts",
        "fdatasync ingest/K/parts",
    ]


def test_steps_4_to_6_make_bytes_and_mode_durable_before_the_name_and_the_name_before_the_ingest_goes(
    store: Store,
) -> None:
    ingest = downloaded(store, DATA, resumable=True)
    record = Record(store.layout.root)
    with fsops.observed(record):
        store.seal([(ingest, DIGEST)])
    first, rest = record.lines[:4], record.lines[4:]
    assert first == [
        "chmod ingest/K/data",
        "fsync ingest/K/data",
        "link ingest/K/data -> blobs/sha256/ab/D",
        "fsync_dir blobs/sha256/ab",
    ]
    assert sorted(rest[:-1]) == ["unlink ingest/K/data", "unlink ingest/K/meta.json", "unlink ingest/K/parts"]
    assert rest[-1] == "rmdir ingest/K"


def test_a_group_is_synced_whole_before_its_first_name_and_each_folder_of_names_once(store: Store) -> None:
    contents = [f"content {number}".encode() for number in range(40)]
    items = [(downloaded(store, data), digest_of(data)) for data in contents]
    record = Record(store.layout.root)
    with fsops.observed(record):
        store.seal(items)
    kinds = [line.split()[0] for line in record.lines]
    last = {kind: len(kinds) - 1 - kinds[::-1].index(kind) for kind in kinds}
    assert last["fsync"] < kinds.index("link") < last["link"] < kinds.index("fsync_dir")
    assert last["fsync_dir"] < kinds.index("unlink")
    assert kinds.count("fsync_dir") == len({digest[:2] for _, digest in items})


def test_steps_7_to_9_publish_a_tree_that_is_durable_before_it_has_its_name(store: Store) -> None:
    store.seal([(downloaded(store, DATA), DIGEST)])
    record = Record(store.layout.root)
    with fsops.observed(record):
        store.publish(listed({"a/b/c.bin": DATA}))
    assert record.lines == [
        "create manifests/.tmp",
        "write manifests/.tmp",
        "fsync manifests/.tmp",
        "rename manifests/.tmp -> manifests/T.json",
        "fsync_dir manifests",
        "mkdir trees/.staging",
        "mkdir trees/.staging/a",
        "mkdir trees/.staging/a/b",
        "link blobs/sha256/ab/D -> trees/.staging/a/b/c.bin",
        "chmod trees/.staging/a/b",
        "fsync_dir trees/.staging/a/b",
        "chmod trees/.staging/a",
        "fsync_dir trees/.staging/a",
        "fsync_dir trees/.staging",
        "rename trees/.staging -> trees/T",
        "chmod trees/T",
        "fsync_dir trees/T",
        "fsync_dir trees",
    ]


def test_step_10_writes_the_ref_before_its_symlinks(store: Store) -> None:
    store.seal([(downloaded(store, DATA), DIGEST)])
    tree = store.publish(listed({"x": DATA})).tree
    record = Record(store.layout.root)
    with fsops.observed(record):
        store.put_ref(a_ref("m", tree))
    assert record.lines == [
        "create refs/.tmp",
        "write refs/.tmp",
        "fsync refs/.tmp",
        "rename refs/.tmp -> refs/m.json",
        "fsync_dir refs",
        "symlink models/.tmp -> ../trees/T",
        "rename models/.tmp -> models/m@T",
        "symlink models/.tmp -> ../trees/T",
        "rename models/.tmp -> models/m",
        "fsync_dir models",
    ]


def test_removal_announces_itself_durably_before_it_takes_anything_down(store: Store) -> None:
    store.seal([(downloaded(store, DATA), DIGEST)])
    ref = a_ref("m", store.publish(listed({"x": DATA})).tree)
    store.put_ref(ref)
    record = Record(store.layout.root)
    with fsops.observed(record):
        store.remove(ref.name)
    lines = record.lines
    assert lines[:2] == ["rename refs/m.json -> refs/.trash.json", "fsync_dir refs"]
    assert sorted(lines[2:5]) == ["fsync_dir models", "unlink models/m", "unlink models/m@T"]
    assert lines[5:] == [
        "rename trees/T -> trees/.trash",
        "fsync_dir trees",
        "chmod trees/.trash",
        "unlink trees/.trash/x",
        "rmdir trees/.trash",
        "unlink blobs/sha256/ab/D",
        "fsync_dir blobs/sha256/ab",
        "unlink manifests/T.json",
        "fsync_dir manifests",
        "unlink refs/.trash.json",
        "fsync_dir refs",
    ]
