from __future__ import annotations

from pathlib import Path

import pytest

from cached.store.index import NEVER, Index, open_index
from cached.store.store import Store
from tests.unit.store.making import digest_of, model, open_store, sealed

DIGEST = digest_of(b"one")


def test_what_was_sealed_is_known_as_verified(store: Store) -> None:
    sealed(store, b"one")
    assert store._parts.index.verified_at(DIGEST) == 1_700_000_000.0


def test_what_is_not_known_was_never_verified(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.sqlite")
    assert index.verified_at(DIGEST) == NEVER
    index.close()


@pytest.mark.parametrize("damage", ["absent", "empty", "noise", "another schema", "torn"])
def test_an_index_that_is_of_no_use_is_made_anew(root: Path, damage: str) -> None:
    store = open_store(root)
    ref = model(store, "m", {"x": b"one"})
    store.close()
    _damage(root / "index.sqlite", damage)
    again = open_store(root)
    assert again.recovered.index_rebuilt
    assert again.refs() == {"m": ref}
    assert again.usage().blobs == 1
    assert again._parts.index.verified_at(DIGEST) == NEVER
    again.close()


def _damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "absent":
        path.unlink()
    elif how == "another schema":
        path.write_bytes(data[:60] + (99).to_bytes(4, "big") + data[64:])
    else:
        path.write_bytes({"empty": b"", "noise": b"\xff" * 20_000, "torn": data[:4096] + b"\0" * 8192}[how])


def test_a_sound_index_is_kept(root: Path) -> None:
    store = open_store(root)
    sealed(store, b"one")
    store.close()
    again = open_store(root)
    assert not again.recovered.index_rebuilt
    assert again._parts.index.verified_at(DIGEST) != NEVER
    again.close()


def test_rows_follow_what_is_on_the_disk(root: Path) -> None:
    store = open_store(root)
    sealed(store, b"one", b"two")
    store.close()
    path = root / f"blobs/sha256/{DIGEST[:2]}/{DIGEST}"
    path.unlink()
    again = open_store(root)
    assert again._parts.index.verified_at(DIGEST) == NEVER
    assert again.usage().blobs == 1
    again.close()


def test_a_touch_counts_and_dates(store: Store) -> None:
    ref = model(store, "m", {"x": b"one"})
    assert ref.placed
    assert store._parts.index.used_at(ref.placed.tree) is None
    store.touch(ref.placed.tree)
    store.touch(ref.placed.tree)
    assert store._parts.index.used_at(ref.placed.tree) == 1_700_000_000.0
    store.remove(ref.name)
    assert store._parts.index.used_at(ref.placed.tree) is None


def test_an_index_that_fails_in_use_costs_knowledge_and_nothing_else(store: Store) -> None:
    broken: Index = store._parts.index
    broken._database.execute("DROP TABLE blobs")
    model(store, "m", {"x": b"one"})
    assert broken.broken
    assert broken.verified_at(DIGEST) == NEVER
    assert (store.layout.models / "m" / "x").read_bytes() == b"one"
