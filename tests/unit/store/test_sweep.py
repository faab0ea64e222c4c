from __future__ import annotations

from cached.store.store import Store
from tests.unit.store.making import broken_promises, digest_of, downloaded, model, published, sealed


def test_a_sweep_takes_what_no_name_keeps_and_nothing_else(store: Store) -> None:
    model(store, "m", {"kept": b"k" * 10})
    sealed(store, b"orphan")
    downloaded(store, b"x" * 100, resumable=True).close()
    assert store.sweep() == len(b"orphan") + 100
    assert (store.usage().blobs, store.usage().bytes_partial) == (1, 0)
    assert broken_promises(store.layout.root) == []
    assert store.sweep() == 0


def test_a_download_that_is_under_way_is_left_alone(store: Store) -> None:
    ingest = downloaded(store, b"x" * 100, resumable=True)
    assert store.sweep() == 0
    store.seal([(ingest, digest_of(b"x" * 100))])
    assert store.usage().blobs == 1


def test_what_is_held_and_what_is_about_to_get_its_name_is_left_alone(store: Store) -> None:
    (orphan,) = sealed(store, b"held")
    published(store, {"f": b"no ref yet"})
    with store.hold() as hold:
        hold.add(orphan)
        assert store.sweep() == 0
    assert store.sweep() == len(b"held")


def test_a_strangers_file_among_the_trees_and_ingests_is_left_alone(store: Store) -> None:
    strangers = [store.layout.trees / "lost+found", store.layout.ingests / "lost+found"]
    for path in strangers:
        path.mkdir()
    store.sweep()
    assert all(path.is_dir() for path in strangers)


def test_aliases_go_with_the_blobs_they_name(store: Store) -> None:
    model(store, "m", {"kept": b"k"})
    (orphan,) = sealed(store, b"orphan")
    store.remember_alias("rule", "etag", "kept", 1, digest_of(b"k"))
    store.remember_alias("rule", "etag", "gone", 6, orphan)
    (store.layout.aliases / "README").write_text("a stranger's")
    store.sweep()
    assert store.find_alias("rule", "etag", "kept", 1) == digest_of(b"k")
    assert len(list(store.layout.aliases.iterdir())) == 2


def test_partials_that_nobody_works_on_can_give_way(store: Store) -> None:
    downloaded(store, b"x" * 100, resumable=True).close()
    at_work = downloaded(store, b"y" * 10, resumable=True)
    assert store.drop_partials() == 100
    assert at_work.path.exists()
