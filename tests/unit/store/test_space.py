from __future__ import annotations

import pytest

from cached.errors import InsufficientSpace
from cached.store.space import Disk, Space
from cached.store.store import Store


def a_space(free: int) -> Space:
    return Space(lambda: Disk(total=1000, free=free))


def test_what_fits_is_admitted() -> None:
    assert a_space(100).admit(100).left == 100


def test_what_does_not_fit_is_refused_with_the_numbers() -> None:
    space = a_space(100)
    space.admit(30)
    with pytest.raises(InsufficientSpace, match="71 bytes are needed") as caught:
        space.admit(71)
    assert caught.value.details == {"needed": 71, "free": 100, "reserved": 30}


def test_two_that_fit_alone_but_not_together_are_not_both_admitted() -> None:
    space = a_space(100)
    space.admit(60)
    with pytest.raises(InsufficientSpace):
        space.admit(60)


def test_a_promise_that_ended_makes_room() -> None:
    space = a_space(100)
    with space.admit(60):
        pass
    assert space.admit(60).left == 60


def test_a_promise_ends_also_with_an_error() -> None:
    space = a_space(100)
    with pytest.raises(RuntimeError), space.admit(60):
        raise RuntimeError
    assert space.reserved == 0


def test_bytes_that_are_allocated_are_not_counted_twice() -> None:
    space = a_space(40)  # the disk already tells 40 because 60 of 100 are allocated
    reservation = space.admit(40)
    reservation.use(30)
    assert space.reserved == 10
    assert space.admit(30).left == 30


def test_more_than_was_promised_uses_no_more_than_the_promise() -> None:
    space = a_space(100)
    space.admit(10).use(15)
    assert space.reserved == 0


def test_a_store_asks_its_own_disk(store: Store) -> None:
    with pytest.raises(InsufficientSpace) as caught:
        store.admit(1 << 60)
    assert caught.value.details["needed"] == 1 << 60
    with store.admit(4096) as reservation:
        assert reservation.left == 4096
