from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from cached import failpoints
from cached.errors import CachedError, NotFound
from cached.store.records import Held
from cached.store.store import Store
from cached.types import ModelName
from tests.unit.store.making import (
    a_ref,
    broken_promises,
    digest_of,
    leftovers,
    listed,
    model,
    open_store,
    published,
    sealed,
)

ONE = {"shared": b"s" * 1000, "x": b"one"}
TWO = {"shared": b"s" * 1000, "x": b"second"}
M = ModelName("m")


def test_a_removed_model_is_gone_and_its_bytes_are_free(store: Store) -> None:
    model(store, "m", ONE)
    assert store.remove(M) == 1003
    assert store.refs() == {}
    for folder in (store.layout.models, store.layout.trees, store.layout.refs, store.layout.manifests):
        assert list(folder.iterdir()) == []
    assert (store.usage().blobs, store.usage().bytes_blobs) == (0, 0)


def test_what_another_model_shares_stays(store: Store) -> None:
    model(store, "m", ONE)
    model(store, "n", TWO)
    assert store.remove(M) == 3
    assert (store.layout.models / "n" / "shared").read_bytes() == b"s" * 1000
    assert broken_promises(store.layout.root) == []


def test_a_tree_that_another_name_has_stays(store: Store) -> None:
    model(store, "m", ONE)
    model(store, "n", ONE)
    assert store.remove(M) == 0
    assert (store.layout.models / "n" / "x").read_bytes() == b"one"
    assert store.remove(ModelName("n")) == 1003


def test_a_tree_in_anothers_history_stays(store: Store) -> None:
    old, new = published(store, ONE), published(store, TWO)
    store.put_ref(a_ref("m", old))
    moved = msgspec.structs.replace(a_ref("n", new), history=(Held(tree=old, since=1.0, until=2.0),))
    store.put_ref(moved)
    assert store.remove(M) == 0
    assert store.layout.tree(old).is_dir()


def test_a_models_own_history_goes_with_it(store: Store) -> None:
    old, new = published(store, ONE), published(store, TWO)
    store.put_ref(a_ref("m", old))
    store.put_ref(msgspec.structs.replace(a_ref("m", new), history=(Held(tree=old, since=1.0, until=2.0),)))
    assert store.remove(M) == 1009
    assert list(store.layout.models.iterdir()) == []
    assert list(store.layout.trees.iterdir()) == []


def test_a_demand_is_withdrawn(store: Store) -> None:
    store.put_ref(a_ref("m", None))
    assert store.remove(M) == 0
    assert list(store.layout.refs.iterdir()) == []


def test_a_name_that_is_not_here_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound, match="no model 'm'"):
        store.remove(M)


def test_a_name_can_be_used_again(store: Store) -> None:
    model(store, "m", ONE)
    store.remove(M)
    model(store, "m", TWO)
    assert (store.layout.models / "m" / "x").read_bytes() == b"second"


def test_a_reader_keeps_what_it_has_open(store: Store) -> None:
    model(store, "m", ONE)
    with (store.layout.models / "m" / "shared").open("rb") as reader:
        store.remove(M)
        assert reader.read() == b"s" * 1000


def test_a_held_blob_stays_until_the_hold_ends(store: Store) -> None:
    model(store, "m", ONE)
    with store.hold() as hold:
        assert hold.add(digest_of(b"one"))
        store.remove(M)
        assert store.blob_size(digest_of(b"one")) == 3
    model(store, "m", {"x": b"one"})
    assert store.remove(M) == 3


def test_a_hold_says_what_is_not_here(store: Store) -> None:
    with store.hold() as hold:
        assert not hold.add(digest_of(b"absent"))


def test_a_hold_on_what_only_arrives_later_counts(store: Store) -> None:
    with store.hold() as hold:
        hold.add(digest_of(b"one"))
        model(store, "m", ONE)
        store.remove(M)
        assert store.blob_size(digest_of(b"one")) == 3


def test_two_holds_are_two(store: Store) -> None:
    model(store, "m", ONE)
    with store.hold() as outer:
        outer.add(digest_of(b"one"))
        with store.hold() as inner:
            inner.add(digest_of(b"one"))
            inner.add(digest_of(b"one"))
        store.remove(M)
        assert store.blob_size(digest_of(b"one")) == 3


def test_what_is_held_before_it_is_sealed_stays(store: Store) -> None:
    model(store, "m", ONE)
    ingest = store.begin_ingest("test", "pin", 3, resumable=False)
    ingest.path.write_bytes(b"one")
    with store.hold() as hold:
        hold.add(digest_of(b"one"))
        store.seal([(ingest, digest_of(b"one"))])
        store.remove(M)
        assert store.blob_size(digest_of(b"one")) == 3


def test_a_tree_is_not_removed_between_its_publication_and_its_ref(store: Store) -> None:
    model(store, "m", ONE)
    found = store.publish(listed(ONE))
    assert store.remove(M) == 0
    store.put_ref(a_ref("n", found.tree))
    assert (store.layout.models / "n" / "x").read_bytes() == b"one"
    assert broken_promises(store.layout.root) == []


def test_a_removal_that_failed_is_finished_at_the_next_start(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(root)
    model(store, "m", ONE)
    monkeypatch.setattr(failpoints, "_armed", {"fsops.rmdir": (1, "eio")})
    with pytest.raises(CachedError, match="cannot remove a model"):
        store.remove(M)
    assert store.refs() == {}
    store.close()
    again = open_store(root)
    assert again.recovered.removals_finished == 1
    assert (again.usage().blobs, leftovers(root)) == (0, [])
    again.close()


def test_a_failed_removal_does_not_take_down_what_came_after_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(root)
    model(store, "m", ONE)
    monkeypatch.setattr(failpoints, "_armed", {"fsops.unlink": (1, "eio")})
    with pytest.raises(CachedError):
        store.remove(M)
    model(store, "m", ONE)
    store.close()
    again = open_store(root)
    assert (again.layout.models / "m" / "x").read_bytes() == b"one"
    assert again.recovered.models_damaged == 0
    again.close()


def test_blobs_without_a_tree_are_not_touched(store: Store) -> None:
    sealed(store, b"a part of another download")
    model(store, "m", ONE)
    store.remove(M)
    assert store.blob_size(digest_of(b"a part of another download")) == 26
