from __future__ import annotations

import stat

import pytest

from cached import failpoints
from cached.errors import CachedError, Corrupt
from cached.store.store import Store
from tests.unit.store.making import StillClock, digest_of, downloaded, open_store, sealed

DATA = b"weights" * 100
DIGEST = digest_of(DATA)


def test_a_blob_has_the_bytes_and_is_read_only(store: Store) -> None:
    sealed(store, DATA)
    blob = store.layout.blob(DIGEST)
    assert (blob.read_bytes(), stat.S_IMODE(blob.stat().st_mode)) == (DATA, 0o444)
    assert store.blob_size(DIGEST) == len(DATA)


def test_a_blob_is_the_downloaded_inode_not_a_copy(store: Store) -> None:
    ingest = downloaded(store, DATA)
    inode = ingest.path.stat().st_ino
    store.seal([(ingest, DIGEST)])
    assert store.layout.blob(DIGEST).stat().st_ino == inode


def test_sealing_leaves_nothing_of_the_download(store: Store) -> None:
    store.seal([(downloaded(store, DATA, resumable=True), DIGEST)])
    assert list(store.layout.ingests.iterdir()) == []
    assert store.usage().bytes_partial == 0


def test_what_is_not_here_has_no_size(store: Store) -> None:
    assert store.blob_size(DIGEST) is None


def test_an_empty_file_is_a_blob_too(store: Store) -> None:
    assert store.blob_size(*sealed(store, b"")) == 0


def test_usage_counts_each_content_once(store: Store) -> None:
    sealed(store, DATA, b"other")
    sealed(store, DATA)
    usage = store.usage()
    assert (usage.blobs, usage.bytes_blobs) == (2, len(DATA) + 5)


def test_the_same_content_twice_in_one_group_is_one_blob(store: Store) -> None:
    items = [(downloaded(store, DATA, pin=pin), DIGEST) for pin in ("one", "two")]
    store.seal(items)
    assert (store.usage().blobs, store.layout.blob(DIGEST).read_bytes()) == (1, DATA)


def test_content_that_is_here_keeps_its_inode(store: Store) -> None:
    sealed(store, DATA)
    inode = store.layout.blob(DIGEST).stat().st_ino
    sealed(store, DATA)
    assert store.layout.blob(DIGEST).stat().st_ino == inode


@pytest.mark.parametrize("damage", [b"cut", b"WEIGHTS" * 100], ids=["another size", "never verified, other bytes"])
def test_a_damaged_blob_is_set_aside_and_the_new_bytes_take_its_name(store: Store, damage: bytes) -> None:
    path = store.layout.blob(DIGEST)
    path.write_bytes(damage)
    path.chmod(0o444)
    sealed(store, DATA)
    assert path.read_bytes() == DATA
    assert [kept.read_bytes() for kept in store.layout.quarantine.iterdir()] == [damage]


def test_a_reader_of_a_damaged_blob_keeps_its_inode(store: Store) -> None:
    path = store.layout.blob(DIGEST)
    path.write_bytes(b"cut")
    with path.open("rb") as reader:
        sealed(store, DATA)
        assert reader.read() == b"cut"


def test_a_blob_that_can_be_written_to_is_not_believed(store: Store) -> None:
    sealed(store, DATA)
    store.layout.blob(DIGEST).chmod(0o644)
    sealed(store, DATA)
    assert len(list(store.layout.quarantine.iterdir())) == 1


def test_a_blob_found_sound_by_hashing_stays(store: Store) -> None:
    path = store.layout.blob(DIGEST)
    path.write_bytes(DATA)
    path.chmod(0o444)
    inode = path.stat().st_ino
    sealed(store, DATA)
    assert path.stat().st_ino == inode


def test_a_file_of_the_wrong_size_is_not_published(store: Store) -> None:
    ingest = downloaded(store, DATA)
    with ingest.path.open("r+b") as file:
        file.truncate(3)
    with pytest.raises(Corrupt, match="has 3 bytes instead of 700"):
        store.seal([(ingest, DIGEST)])
    assert store.blob_size(DIGEST) is None


def test_a_failed_sync_drops_that_download_and_publishes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [(downloaded(store, data), digest_of(data)) for data in (b"first", b"second", b"third")]
    monkeypatch.setattr(failpoints, "_armed", {"fsops.fsync": (2, "eio")})
    with pytest.raises(CachedError, match="cannot publish downloaded bytes: Input/output error"):
        store.seal(items)
    assert [ingest.spent for ingest, _ in items] == [False, True, False]
    assert store.usage().blobs == 0


def test_a_download_can_be_sealed_again_after_the_disk_was_full(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest = downloaded(store, DATA)
    monkeypatch.setattr(failpoints, "_armed", {"fsops.link": (1, "enospc")})
    with pytest.raises(CachedError, match="No space left"):
        store.seal([(ingest, DIGEST)])
    store.seal([(ingest, DIGEST)])
    assert store.layout.blob(DIGEST).read_bytes() == DATA


def test_what_was_sealed_last_is_doubted_after_the_machine_went_down(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed(store, DATA)
    blob = store.layout.blob(DIGEST)
    blob.chmod(0o644)
    blob.write_bytes(b"WEIGHTS" * 100)
    blob.chmod(0o444)
    store.close(clean=False)
    monkeypatch.setattr("cached.store.opening.boot_id", lambda: "another boot")
    again = open_store(store.layout.root, clock=StillClock())
    assert again.recovered.unclean
    sealed(again, DATA)
    assert again.layout.blob(DIGEST).read_bytes() == DATA
    again.close()


def test_what_was_sealed_long_before_the_machine_went_down_is_not_hashed_again(
    store: Store, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed(store, DATA)
    clock.now += 601
    sealed(store, b"the last one")
    store.close(clean=False)
    monkeypatch.setattr("cached.store.opening.boot_id", lambda: "another boot")
    again = open_store(store.layout.root, clock=clock)
    monkeypatch.setattr("cached.store.blobs._sha256", lambda data: pytest.fail(f"{data} was hashed"))
    sealed(again, DATA)
    again.close()
