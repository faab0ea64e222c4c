"""Faults of a real file system: a small ext4 on a loop device. Needs root; says so otherwise."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cached import fsops
from cached.errors import CachedError, InsufficientSpace, Permanent
from cached.store.store import Store
from tests.unit.store.making import a_ref, digest_of, downloaded, leftovers, listed, model, open_store, sealed

MIB = 1 << 20
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root"),
    pytest.mark.skipif(not shutil.which("mkfs.ext4"), reason="mkfs.ext4 is not installed"),
]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A mounted ext4 of 64 MiB."""
    image, mount = tmp_path / "image", tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(64 * MIB)
    mount.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", str(image)], check=True)
    command = ["mount", "-o", "loop", str(image), str(mount)]
    mounted = subprocess.run(command, check=False, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a loop device here: {mounted.stderr.strip()}")
    yield mount
    subprocess.run(["umount", "--lazy", str(mount)], check=True)  # a failed test may have left files open


@pytest.fixture
def store(disk: Path) -> Iterator[Store]:
    store = open_store(disk)
    yield store
    store.close()


def test_a_disk_of_its_own_may_hold_a_root_and_keeps_its_lost_and_found(store: Store, disk: Path) -> None:
    assert store.warnings == ()
    assert (disk / "lost+found").is_dir()


def test_a_file_that_does_not_fit_gives_back_what_it_got(store: Store) -> None:
    free = store.usage().disk_free
    with pytest.raises(InsufficientSpace, match="No space left"):
        store.begin_ingest("test", "pin", free + MIB, resumable=True)
    assert store.usage().disk_free >= free - MIB
    assert list(store.layout.ingests.iterdir()) == []


def test_a_download_that_does_not_fit_is_refused_before_its_first_byte(store: Store) -> None:
    free = store.usage().disk_free
    with pytest.raises(InsufficientSpace) as caught:
        store.admit(free + 1)
    assert caught.value.details == {"needed": free + 1, "free": free, "reserved": 0}


def test_a_full_disk_ends_in_a_typed_error_and_the_store_goes_on(store: Store, disk: Path) -> None:
    ref = model(store, "m", {"x": b"x" * 5000})
    ingest = downloaded(store, b"y" * 5000)
    filler = disk / "filler"
    with fsops.create(filler) as file:
        fsops.allocate(file, store.usage().disk_free - 4096)
    with pytest.raises(InsufficientSpace, match="cannot record a model: No space left"):
        _record_many(store)
    assert leftovers(disk) == []
    assert store.refs()[ref.name] == ref
    filler.unlink()
    store.seal([(ingest, digest_of(b"y" * 5000))])
    assert store.blob_size(digest_of(b"y" * 5000)) == 5000


def _record_many(store: Store) -> None:
    for number in range(2000):
        store.put_ref(a_ref(f"n{number}", None))


def test_a_disk_that_turned_read_only_ends_in_a_typed_error(store: Store, disk: Path) -> None:
    model(store, "m", {"x": b"x"})
    store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(Permanent, match="read-only") as caught:
        open_store(disk)
    assert "read-write" in caught.value.hint
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    again = open_store(disk)
    assert list(again.refs()) == ["m"]
    again.close()


def test_an_inode_with_all_the_links_ext4_allows_is_copied_and_marked(store: Store, disk: Path) -> None:
    (digest,) = sealed(store, b"same")
    names = disk / "names"
    names.mkdir()
    blob = store.layout.blob(digest)
    for number in range(65_000 - blob.stat().st_nlink - 1):
        (names / str(number)).hardlink_to(blob)
    found = store.publish(listed({"a": b"same", "b": b"same"}))
    store.put_ref(a_ref("m", found.tree, copied=found.copied))
    assert found.copied == ("b",)
    assert (store.layout.models / "m" / "b").read_bytes() == b"same"
    store.close()
    again = open_store(disk)
    assert again.recovered.models_damaged == 0
    again.close()


def test_a_tree_across_two_mounts_says_what_mends_it(store: Store, disk: Path, tmp_path: Path) -> None:
    sealed(store, b"x")
    trees = store.layout.trees
    subprocess.run(["mount", "--bind", str(trees), str(trees)], check=True)
    try:
        with pytest.raises(CachedError, match="cross-device") as caught:
            store.publish(listed({"x": b"x"}))
        assert "one mount point" in caught.value.hint
    finally:
        subprocess.run(["umount", str(trees)], check=True)
