from __future__ import annotations

import stat

import pytest

from cached import fsops
from cached.api.types import Want
from cached.errors import CachedError
from cached.fsops import Op
from cached.store.records import WantList
from cached.store.store import Store
from cached.types import HolderName, ModelName, Uri
from tests.unit.store.leasing import refuse
from tests.unit.store.making import open_store

NODE = HolderName("node")
OPERATOR = HolderName("operator")


def want(name: str, *, expires: float | None = None) -> Want:
    return Want(uri=Uri(f"s3://bucket/{name}"), name=ModelName(name), expires=expires)


def wanted(*wants: Want, holder: HolderName = NODE, at: float = 1.0) -> WantList:
    return WantList(holder=holder, wants=wants, at=at)


def reopened(store: Store) -> Store:
    store.close()
    return open_store(store.layout.root)


def wanting(store: Store, name: str, *, now: float = 0.0) -> list[HolderName]:
    return [holder for holder, _ in store._parts.wants.wanting(ModelName(name), now=now)]


def test_a_list_replaces_the_holders_last_and_nobody_elses(store: Store) -> None:
    other = wanted(want("a"), holder=OPERATOR)
    for each in (wanted(want("a"), want("b")), other, wanted(want("b"))):
        store.put_wants(each)
    assert store.want_lists() == (wanted(want("b")), other)
    assert (wanting(store, "a"), wanting(store, "b")) == ([OPERATOR], [NODE])


def test_lists_outlive_the_process_and_only_the_daemon_reads_them(store: Store) -> None:
    lists = (wanted(want("a")), wanted(holder=OPERATOR))
    for each in lists:
        store.put_wants(each)
    mode = store.layout.want_list(NODE).stat().st_mode
    again = reopened(store)
    assert (again.want_lists(), stat.S_IMODE(mode)) == (lists, 0o600)
    again.close()


def test_an_entry_counts_until_it_expires(store: Store) -> None:
    store.put_wants(wanted(want("a", expires=10.0)))
    assert (wanting(store, "a", now=9.9), wanting(store, "a", now=10.0)) == ([NODE], [])


def test_the_same_list_again_is_not_written(store: Store) -> None:
    store.put_wants(wanted(want("a")))
    ops: list[Op] = []
    with fsops.observed(ops.append):
        store.put_wants(wanted(want("a"), at=2.0))
    assert (ops, store.transitions) == ([], {"wants_replaced": 1})


@pytest.mark.parametrize("place", ["fsops.write", "fsops.fsync", "fsops.fsync_dir"])
def test_a_list_that_the_disk_refused_is_the_old_one(store: Store, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    store.put_wants(wanted(want("a")))
    refuse(monkeypatch, place)
    with pytest.raises(CachedError, match="cannot record a want-list"):
        store.put_wants(wanted(want("b")))
    assert (wanting(store, "a"), wanting(store, "b")) == ([NODE], [])


@pytest.mark.parametrize("text", ["", "{", '{"holder":"operator","wants":[],"at":1}'])
def test_a_list_that_cannot_be_read_is_unread_until_its_holder_says_it_again(store: Store, text: str) -> None:
    path = store.layout.want_list(NODE)
    path.write_text(text)
    first = reopened(store)
    second = reopened(first)
    for each in (first, second):
        assert (each.unread_wants, each.want_lists()) == (frozenset({str(NODE)}), ())
        assert "nothing of it is withdrawn" in each.warnings[0]
    second.put_wants(wanted())
    assert second.unread_wants == frozenset()
    third = reopened(second)
    assert (third.unread_wants, third.want_lists(), third.warnings) == (frozenset(), (wanted(),), ())
    third.close()


def test_a_stranger_among_the_lists_is_left_alone(store: Store) -> None:
    for name in ("README", "NOT A HOLDER.json", ".tmp-1"):
        (store.layout.wants / name).write_text("hello")
    again = reopened(store)
    assert (again.want_lists(), again.unread_wants) == ((), frozenset())
    assert sorted(path.name for path in store.layout.wants.iterdir()) == ["NOT A HOLDER.json", "README"]
    again.close()
