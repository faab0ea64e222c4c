"""Faults that stores of other tools were reported to have, put to this one. Each test cites its report."""

from __future__ import annotations

import fcntl
import mmap
import os
from pathlib import Path

import pytest

from cached import failpoints
from cached.errors import InsufficientSpace
from cached.store import lock
from cached.types import ModelName
from tests.unit.store.making import (
    StillClock,
    broken_promises,
    digest_of,
    downloaded,
    listed,
    model,
    open_store,
    part,
    sealed,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def test_two_writers_under_a_lock_that_does_nothing_publish_the_right_bytes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """huggingface_hub#4306: flock was a no-op, and the writer that came late wrote into the published file."""
    monkeypatch.setattr(fcntl, "flock", lambda *_args: None)
    monkeypatch.setattr(lock, "_refuse_if_flock_does_nothing", lambda _path: None)
    data = b"weights" * 100
    first = open_store(root)
    early = downloaded(first, data, pin="early")
    second = open_store(root)
    late = downloaded(second, data, pin="late")
    with late.path.open("r+b") as writer:
        first.seal([(downloaded(first, data, pin="again"), digest_of(data))])
        writer.write(b"WEIGHTS" * 100)
    assert not early.path.exists()  # the second start cleared what it took for a dead process's
    assert first.layout.blob(digest_of(data)).read_bytes() == data
    assert broken_promises(root) == []
    second.close()
    first.close()


def test_the_lock_file_of_a_dead_process_makes_nobody_wait(root: Path) -> None:
    """huggingface_hub#2543: a lock file that outlived its process blocked every later download."""
    root.mkdir()
    (root / "daemon.lock").write_text("999999\n")
    open_store(root).close()


def test_partials_of_a_killed_process_are_swept_or_counted_at_the_start(root: Path) -> None:
    """sglang PR#26638: leftovers of a SIGKILL filled the disk, and nobody knew of them."""
    store = open_store(root)
    downloaded(store, b"x" * 5000, resumable=True).journal([part(0, 4096)])
    downloaded(store, b"y" * 6000, resumable=False)
    store.close(clean=False)
    again = open_store(root)
    assert again.usage().bytes_partial == 5000
    assert len(list(again.layout.ingests.iterdir())) == 1
    again.close()


def test_a_full_disk_is_a_typed_error_and_its_reservation_comes_back(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """boto3#716, huggingface_hub#2742: ENOSPC in the middle left threads, files and a vague error behind."""
    store = open_store(root)
    monkeypatch.setattr(failpoints, "_armed", {"fsops.allocate": (1, "enospc")})
    with pytest.raises(InsufficientSpace), store.admit(5000):
        store.begin_ingest("source", "pin", 5000, resumable=True)
    assert store._parts.space.reserved == 0
    assert list(store.layout.ingests.iterdir()) == []
    store.close()


def test_a_reader_that_has_a_shard_mapped_survives_its_removal_and_its_repair(root: Path) -> None:
    """pytorch ci-infra#907: a shard was truncated or rewritten under a reader's mmap, which is SIGBUS."""
    store = open_store(root)
    data = os.urandom(1 << 16)
    model(store, "m", {"shard": data})
    with (
        (store.layout.models / "m" / "shard").open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
    ):
        store._parts.blobs.quarantine(digest_of(data))
        sealed(store, data)
        store.publish(listed({"shard": data}))
        store.remove(ModelName("m"))
        assert mapped[:] == data
    store.close()


def test_a_write_through_a_trees_hard_link_is_noticed_and_healed_with_a_new_inode(root: Path) -> None:
    """uv#10579, pnpm#14173: root wrote through a hard link, and every tree that shared the inode was changed."""
    store = open_store(root)
    first, second = model(store, "m", {"x": b"right"}), model(store, "n", {"x": b"right", "y": b"y"})
    inode = store.layout.blob(digest_of(b"right")).stat().st_ino
    victim = store.layout.models / "m" / "x"
    victim.chmod(0o644)
    victim.write_bytes(b"wrong!")
    store.close()
    again = open_store(root)
    assert [ref.placed for ref in again.refs().values()] == [None, None]
    for ref, files in ((first, {"x": b"right"}), (second, {"x": b"right", "y": b"y"})):
        model(again, ref.name, files)
    assert again.layout.blob(digest_of(b"right")).stat().st_ino != inode
    assert broken_promises(root) == []
    again.close()


def test_an_index_that_is_ahead_of_the_disk_is_not_believed(root: Path) -> None:
    """containerd#10457, nix#1218: the database knew of content whose directory entry the crash had lost."""
    store = open_store(root)
    model(store, "m", {"x": b"data"})
    store.layout.blob(digest_of(b"data")).unlink()
    store.close(clean=False)
    again = open_store(root)
    assert again.blob_size(digest_of(b"data")) is None
    assert again.usage().blobs == 0
    assert again.recovered.models_damaged == 1
    again.close()


def test_what_others_put_into_the_root_outlives_start_and_sweep(root: Path) -> None:
    """kserve, read in source: a cache that owns its folder removed lost+found and a stranger's files."""
    store = open_store(root, clock=StillClock())
    strangers = [root / "lost+found", root / "trees" / "somebody's", root / "ingest" / "somebody's"]
    for path in strangers:
        path.mkdir()
    store.sweep()
    store.close()
    open_store(root).close()
    assert [path.is_dir() for path in strangers] == [True, True, True]
