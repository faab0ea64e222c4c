from __future__ import annotations

from cached.transfer.stall import SLICES, StallWatch


def watch() -> StallWatch:
    return StallWatch(window=16.0, floor=100)


def test_silence_for_a_window_is_a_stall() -> None:
    stall = watch()
    told = [stall.note(waited=0.5, received=0) for _ in range(32)]
    assert told == [False] * 31 + [True]


def test_one_long_silent_wait_is_a_stall() -> None:
    assert watch().note(waited=16.0, received=0) is True


def test_a_trickle_under_the_floor_is_a_stall() -> None:
    stall = watch()
    assert any(stall.note(waited=1.0, received=99) for _ in range(SLICES))


def test_a_trickle_at_the_floor_is_none() -> None:
    stall = watch()
    assert not any(stall.note(waited=1.0, received=100) for _ in range(10 * SLICES))


def test_a_burst_pays_for_the_window_that_it_lies_in_and_no_longer() -> None:
    stall = watch()
    stall.note(waited=1.0, received=16 * 100)
    told = [stall.note(waited=1.0, received=0) for _ in range(SLICES)]
    assert told == [False] * 15 + [True]


def test_bytes_that_come_without_waiting_never_stall() -> None:
    stall = watch()
    assert not any(stall.note(waited=0.0, received=1) for _ in range(1000))


def test_a_floor_of_nothing_never_stalls() -> None:
    assert StallWatch(window=1.0, floor=0).note(waited=100.0, received=0) is False
