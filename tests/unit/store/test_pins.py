from __future__ import annotations

from pathlib import Path

import pytest

from cached import fsops
from cached.errors import CachedError, NotFound
from cached.fsops import Op
from cached.store.records import Pin
from cached.store.store import Store
from cached.types import ModelName
from tests.unit.store.leasing import refuse
from tests.unit.store.making import StillClock, a_ref, model, open_store

NAME = ModelName("m")


@pytest.fixture(autouse=True)
def _a_name(store: Store) -> None:
    store.put_ref(a_ref(NAME, None))


def reopened(store: Store) -> Store:
    store.close()
    return open_store(store.layout.root)


def test_a_pin_outlives_the_process(store: Store, clock: StillClock) -> None:
    pin = store.pin(NAME)
    assert (pin, store.pins()) == (Pin(name=NAME, at=clock.now), (pin,))
    again = reopened(store)
    assert again.pins() == (pin,)
    again.close()


def test_pinned_again_it_is_the_pin_that_is_there(store: Store, clock: StillClock) -> None:
    pin = store.pin(NAME)
    clock.now += 1
    assert store.pin(NAME) == pin
    assert store.transitions == {"name_pinned": 1}


def test_an_unpinned_name_stays_unpinned(store: Store) -> None:
    store.pin(NAME)
    store.unpin(NAME)
    again = reopened(store)
    assert (store.pins(), again.pins()) == ((), ())
    again.close()


def test_what_is_not_here_is_not_pinned_and_what_is_not_pinned_not_unpinned(store: Store) -> None:
    with pytest.raises(NotFound, match="no model named other"):
        store.pin(ModelName("other"))
    with pytest.raises(NotFound, match="m is not pinned"):
        store.unpin(NAME)


@pytest.mark.parametrize("place", ["fsops.write", "fsops.fsync", "fsops.fsync_dir"])
def test_a_pin_that_the_disk_refused_is_none(store: Store, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    refuse(monkeypatch, place)
    with pytest.raises(CachedError, match="cannot pin a model"):
        store.pin(NAME)
    assert (store.pins(), store.transitions) == ((), {})


@pytest.mark.parametrize("place", ["fsops.unlink", "fsops.fsync_dir"])
def test_a_pin_whose_end_the_disk_refused_still_holds(
    store: Store, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    pin = store.pin(NAME)
    refuse(monkeypatch, place)
    with pytest.raises(CachedError, match="cannot unpin a model"):
        store.unpin(NAME)
    assert store.pins() == (pin,)
    store.unpin(NAME)
    assert list(store.layout.pins.iterdir()) == []


def test_a_removed_name_takes_its_pin_with_it_and_before_it_goes(store: Store) -> None:
    model(store, NAME, {"x": b"one"})
    store.pin(NAME)
    gone: list[str] = []

    def note(op: Op) -> None:
        if op.kind in {"unlink", "rename"} and op.path.suffix == ".json":
            gone.append(op.path.parent.name)

    with fsops.observed(note):
        store.remove(NAME)
    assert gone[:2] == ["pins", "refs"]
    store.put_ref(a_ref(NAME, None))
    assert store.pins() == ()


@pytest.mark.parametrize("text", ["", "{", '{"name":"other","at":1}'])
def test_a_damaged_pin_still_pins_and_is_mended(store: Store, text: str) -> None:
    path: Path = store.layout.pin(NAME)
    path.write_text(text)
    first = reopened(store)
    assert [pin.name for pin in first.pins()] == [NAME]
    assert first.warnings == (f"{path} cannot be read: the name stays pinned",)
    second = reopened(first)
    assert (second.pins(), second.warnings) == (first.pins(), ())
    second.close()


def test_a_stranger_among_the_pins_is_left_alone(store: Store) -> None:
    for name in ("README", "NOT A NAME.json", ".tmp-1"):
        (store.layout.pins / name).write_text("hello")
    again = reopened(store)
    assert again.pins() == ()
    assert sorted(path.name for path in store.layout.pins.iterdir()) == ["NOT A NAME.json", "README"]
    again.close()
