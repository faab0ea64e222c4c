from __future__ import annotations

from pathlib import Path

import pytest

from cached import failpoints
from cached.errors import CachedError, Conflict, InsufficientSpace
from cached.store.store import Store
from tests.unit.store.making import downloaded, open_store, part

KEY = ("source", "pin", 1000)


def test_space_for_the_whole_file_is_taken_before_its_first_byte(store: Store) -> None:
    ingest = store.begin_ingest("source", "pin", 1 << 20, resumable=True)
    state = ingest.path.stat()
    assert (state.st_size, state.st_blocks * 512 >= 1 << 20) == (1 << 20, True)
    assert store.usage().bytes_partial == 1 << 20


def test_an_empty_file_needs_no_space(store: Store) -> None:
    assert store.begin_ingest("source", "pin", 0, resumable=False).path.stat().st_size == 0


def test_one_object_in_one_version_has_one_owner(store: Store) -> None:
    store.begin_ingest(*KEY, resumable=True)
    with pytest.raises(Conflict, match="being fetched already"):
        store.begin_ingest(*KEY, resumable=True)


def test_another_version_is_another_ingest(store: Store) -> None:
    first = store.begin_ingest("source", "pin", 1000, resumable=True)
    second = store.begin_ingest("source", "other", 1000, resumable=True)
    assert first.key != second.key


def test_a_partial_is_gone_on_with_where_its_journal_ends(store: Store) -> None:
    first = downloaded(store, b"x" * 1000, pin="pin", resumable=True)
    first.journal([part(0, 400)])
    first.journal([part(400, 100, checksum=7)])
    first.close()
    second = store.begin_ingest("test", "pin", 1000, resumable=True)
    assert second.parts == (part(0, 400), part(400, 100, checksum=7))
    assert (second.path, second.path.read_bytes()) == (first.path, b"x" * 1000)


def test_a_partial_is_gone_on_with_after_a_restart(root: Path) -> None:
    store = open_store(root)
    first = store.begin_ingest(*KEY, resumable=True)
    first.journal([part(0, 400)])
    store.close()
    again = open_store(root)
    assert again.recovered.partials_kept == 1
    assert again.allocated(*KEY) == 1000
    assert again.begin_ingest(*KEY, resumable=True).parts == (part(0, 400),)
    again.close()


def test_what_is_not_resumable_is_dropped_when_closed(store: Store) -> None:
    ingest = store.begin_ingest(*KEY, resumable=False)
    ingest.journal([part(0, 1000)])
    ingest.close()
    assert list(store.layout.ingests.iterdir()) == []
    assert store.usage().bytes_partial == 0


def test_a_part_that_failed_its_check_is_forgotten(store: Store) -> None:
    ingest = store.begin_ingest(*KEY, resumable=True)
    ingest.journal([part(0, 400), part(400, 100)])
    ingest.rewrite_journal([part(400, 100)])
    ingest.journal([part(500, 100)])
    ingest.close()
    assert store.begin_ingest(*KEY, resumable=True).parts == (part(400, 100), part(500, 100))


def test_a_restart_begins_a_new_file_with_nothing_in_it(store: Store) -> None:
    ingest = downloaded(store, b"x" * 1000, pin="pin", resumable=True)
    ingest.journal([part(0, 400)])
    before = ingest.path
    ingest.restart()
    assert ingest.path != before
    assert not before.exists()
    assert (ingest.parts, ingest.path.read_bytes()) == ((), bytes(1000))
    ingest.close()
    assert store.begin_ingest("test", "pin", 1000, resumable=True).parts == ()


def test_a_discarded_download_gives_its_space_back_while_a_worker_still_has_it_open(store: Store) -> None:
    ingest = store.begin_ingest("source", "pin", 1 << 20, resumable=True)
    with ingest.path.open("rb") as worker:
        ingest.discard()
        assert worker.read() == b""
    assert list(store.layout.ingests.iterdir()) == []
    assert store.usage().bytes_partial == 0


def test_after_it_was_dropped_an_object_can_be_fetched_again(store: Store) -> None:
    store.begin_ingest(*KEY, resumable=True).discard()
    assert store.begin_ingest(*KEY, resumable=True).parts == ()


def test_closing_twice_is_closing_once(store: Store) -> None:
    ingest = store.begin_ingest(*KEY, resumable=True)
    ingest.close()
    other = store.begin_ingest(*KEY, resumable=True)
    ingest.close()
    ingest.discard()
    assert other.path.exists()


@pytest.mark.parametrize("resumable", [True, False])
def test_a_file_that_does_not_fit_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, *, resumable: bool
) -> None:
    monkeypatch.setattr(failpoints, "_armed", {"fsops.allocate": (1, "enospc")})
    with pytest.raises(InsufficientSpace, match="cannot hold a file of 1000 bytes"):
        store.begin_ingest(*KEY, resumable=resumable)
    assert list(store.layout.ingests.iterdir()) == []
    assert store.usage().bytes_partial == 0


def test_a_disk_that_fills_up_during_bookkeeping_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failpoints, "_armed", {"fsops.write": (1, "enospc")})
    with pytest.raises(InsufficientSpace):
        store.begin_ingest(*KEY, resumable=True)
    assert list(store.layout.ingests.iterdir()) == []


def test_parts_are_not_journaled_when_the_data_could_not_be_synced(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest = store.begin_ingest(*KEY, resumable=True)
    monkeypatch.setattr(failpoints, "_armed", {"fsops.fdatasync": (1, "eio")})
    with pytest.raises(CachedError, match="Input/output error"):
        ingest.journal([part(0, 400)])
    ingest.close()
    assert store.begin_ingest(*KEY, resumable=True).parts == ()


def test_a_partial_left_read_only_by_a_crash_in_sealing_is_gone_on_with(store: Store) -> None:
    first = downloaded(store, b"x" * 1000, pin="pin", resumable=True)
    first.journal([part(0, 1000)])
    first.path.chmod(0o444)
    first.close()
    second = store.begin_ingest("test", "pin", 1000, resumable=True)
    with second.path.open("r+b") as worker:
        worker.write(b"y")
    assert second.parts == (part(0, 1000),)


def test_bytes_that_have_become_a_blob_are_never_written_again(store: Store) -> None:
    first = downloaded(store, b"x" * 1000, pin="pin", resumable=True)
    blob = store.layout.root / "blob"
    blob.hardlink_to(first.path)
    first.close()
    second = store.begin_ingest("test", "pin", 1000, resumable=True)
    assert second.path.stat().st_ino != blob.stat().st_ino
    assert blob.read_bytes() == b"x" * 1000


def test_discarding_never_truncates_bytes_that_have_become_a_blob(store: Store) -> None:
    ingest = downloaded(store, b"x" * 1000, resumable=True)
    blob = store.layout.root / "blob"
    blob.hardlink_to(ingest.path)
    ingest.discard()
    assert blob.read_bytes() == b"x" * 1000


def test_a_partial_with_the_wrong_size_is_not_believed(store: Store) -> None:
    first = store.begin_ingest(*KEY, resumable=True)
    first.journal([part(0, 400)])
    first.close()
    with first.path.open("r+b") as file:
        file.truncate(500)
    second = store.begin_ingest(*KEY, resumable=True)
    assert (second.parts, second.path.stat().st_size) == ((), 1000)
