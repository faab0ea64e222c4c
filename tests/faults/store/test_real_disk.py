"""What only a real file system does: small ones, ext4 and xfs, on loop devices. Needs root; says so otherwise."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from cached.errors import CachedError, InsufficientSpace, Permanent
from cached.store.store import Store
from tests.faults.store.life import findings
from tests.helpers.disks import MIB, SmallDisk
from tests.unit.store.making import a_ref, digest_of, downloaded, listed, model, open_store, part, sealed

OBJECT = bytes(range(256)) * 64
pytestmark = pytest.mark.root


@pytest.fixture
def store(disk: SmallDisk) -> Iterator[Store]:
    store = open_store(disk.mount)
    yield store
    store.close()


def test_a_disk_of_its_own_may_hold_a_root_and_keeps_what_it_has(store: Store, disk: SmallDisk) -> None:
    assert store.warnings == ()
    assert (disk.mount / "lost+found").is_dir() == (disk.kind == "ext4")


def test_a_file_that_does_not_fit_gives_back_what_it_got(store: Store, disk: SmallDisk) -> None:
    free = disk.free
    with pytest.raises(InsufficientSpace, match="No space left"):
        store.begin_ingest("test", "pin", free + MIB, resumable=True)
    assert disk.free >= free - MIB
    assert list(store.layout.ingests.iterdir()) == []


def test_a_download_that_does_not_fit_is_refused_before_its_first_byte(store: Store, disk: SmallDisk) -> None:
    with pytest.raises(InsufficientSpace):
        store.admit(disk.free + MIB)  # xfs gives back a little when it likes
    assert store.usage().bytes_reserved == 0


def test_a_disk_that_turns_read_only_under_a_download_costs_no_more_than_that_download(ext4: SmallDisk) -> None:
    store = open_store(ext4.mount)
    ref = model(store, "m", {"x": b"x"})
    ingest = downloaded(store, OBJECT, resumable=True)
    ingest.journal([part(0, ingest.size)])
    ext4.turn_read_only()
    for attempt in (lambda: ingest.journal([part(0, 1)]), lambda: store.seal([(ingest, digest_of(OBJECT))]),
                    lambda: store.put_ref(a_ref("n", None)), lambda: store.remove(ref.name)):  # fmt: skip
        with pytest.raises(CachedError, match=r"Read-only|Input/output") as caught:
            attempt()
        assert caught.value.hint
    assert (store.layout.model(ref.name) / "x").read_bytes() == b"x"
    ingest.close()
    store.close()
    with pytest.raises(Permanent, match="cannot be written: Read-only file system"):
        open_store(ext4.mount)
    ext4.again()
    goes_on(ext4)


def test_a_disk_that_is_mounted_read_only_is_refused_with_what_mends_it(disk: SmallDisk) -> None:
    open_store(disk.mount).close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk.mount)], check=True)
    with pytest.raises(Permanent, match="read-only") as caught:
        open_store(disk.mount)
    assert "read-write" in caught.value.hint
    subprocess.run(["mount", "-o", "remount,rw", str(disk.mount)], check=True)
    open_store(disk.mount).close()


def goes_on(disk: SmallDisk) -> None:
    """After the disk was mended: the model is there, and the download goes on from what its journal says."""
    store = open_store(disk.mount)
    assert (list(store.refs()), store.recovered.models_damaged) == (["m"], 0)
    ingest = store.begin_ingest("test", digest_of(OBJECT), len(OBJECT), resumable=True)
    assert [record.length for record in ingest.parts] == [len(OBJECT)]
    store.seal([(ingest, digest_of(OBJECT))])
    store.close()
    assert findings(disk.mount) == []


def test_an_inode_with_all_the_links_ext4_allows_is_copied_and_marked(ext4: SmallDisk) -> None:
    store = open_store(ext4.mount)
    (digest,) = sealed(store, b"same")
    names = ext4.mount / "names"
    names.mkdir()
    blob = store.layout.blob(digest)
    for number in range(65_000 - blob.stat().st_nlink - 1):
        (names / str(number)).hardlink_to(blob)
    found = store.publish(listed({"a": b"same", "b": b"same"}))
    store.put_ref(a_ref("m", found.tree, copied=found.copied))
    assert found.copied == ("b",)
    assert (store.layout.models / "m" / "b").read_bytes() == b"same"
    store.close()
    again = open_store(ext4.mount)
    assert again.recovered.models_damaged == 0
    again.close()


def test_a_tree_across_two_mounts_says_what_mends_it(store: Store) -> None:
    sealed(store, b"x")
    trees = store.layout.trees
    subprocess.run(["mount", "--bind", str(trees), str(trees)], check=True)
    try:
        with pytest.raises(CachedError, match="cross-device") as caught:
            store.publish(listed({"x": b"x"}))
        assert "one mount point" in caught.value.hint
    finally:
        subprocess.run(["umount", str(trees)], check=True)
