from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from cached.errors import Code, Conflict, NotFound
from cached.store.records import Failure, Held
from cached.store.store import Store
from cached.types import ModelName, TreeId
from tests.unit.store.making import a_ref, model, open_store, published

ONE = {"x": b"one"}
TWO = {"x": b"two"}


def test_a_name_is_a_relative_symlink_to_its_tree(store: Store) -> None:
    tree = published(store, ONE)
    store.put_ref(a_ref("m", tree))
    assert (store.layout.models / "m").readlink() == Path("../trees") / tree
    assert (store.layout.models / "m" / "x").read_bytes() == b"one"


def test_a_name_with_its_version_is_another(store: Store) -> None:
    tree = published(store, ONE)
    store.put_ref(a_ref("m", tree))
    assert (store.layout.models / f"m@{tree[:12]}").readlink() == Path("../trees") / tree


def test_a_name_moves_and_its_old_version_stays(store: Store) -> None:
    one, two = published(store, ONE), published(store, TWO)
    store.put_ref(a_ref("m", one))
    moved = a_ref("m", two)
    store.put_ref(msgspec.structs.replace(moved, history=(Held(tree=one, since=1.0, until=2.0),)))
    links = {path.name: path.readlink().name for path in store.layout.models.iterdir()}
    assert links == {"m": two, f"m@{one[:12]}": one, f"m@{two[:12]}": two}


def test_a_demand_has_no_symlink(store: Store) -> None:
    store.put_ref(a_ref("m", None))
    assert list(store.layout.models.iterdir()) == []


def test_refs_outlive_the_process(root: Path) -> None:
    store = open_store(root)
    placed = model(store, "placed", ONE)
    failure = Failure(code=Code.NOT_FOUND, message="no such bucket", at=2.0)
    demand = msgspec.structs.replace(a_ref("demand", None), failure=failure)
    store.put_ref(demand)
    store.close()
    again = open_store(root)
    assert again.refs() == {"placed": placed, "demand": demand}
    assert again.ref(ModelName("placed")) == placed
    again.close()


def test_a_name_cannot_point_to_a_tree_that_is_not_here(store: Store) -> None:
    with pytest.raises(NotFound):
        store.put_ref(a_ref("m", TreeId("0" * 64)))
    assert store.refs() == {}


def test_what_is_not_ours_in_models_is_not_replaced(store: Store) -> None:
    (store.layout.models / "m").mkdir()
    with pytest.raises(Conflict, match="not cached's"):
        store.put_ref(a_ref("m", published(store, ONE)))
    assert (store.layout.models / "m").is_dir()


def test_refs_are_a_snapshot(store: Store) -> None:
    refs = store.refs()
    model(store, "m", ONE)
    assert refs == {}
