from __future__ import annotations

import pytest

from cached import human


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "0.98 KiB"),
        (1536, "1.50 KiB"),
        (70 * 10**9, "65.2 GiB"),
        (2**60, "1024 PiB"),
    ],
)
def test_sizes_have_three_digits(amount: int, expected: str) -> None:
    assert human.size(amount) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min"), (371_000, "4 d 07 h")],
)
def test_spans_have_two_units(seconds: float, expected: str) -> None:
    assert human.span(seconds) == expected


@pytest.mark.parametrize(("part", "whole", "expected"), [(999, 1000, "99 %"), (5, 5, "100 %"), (0, 0, "100 %")])
def test_100_percent_is_said_only_when_all_is_there(part: int, whole: int, expected: str) -> None:
    assert human.percent(part, whole) == expected


def test_control_characters_are_written_out_and_letters_kept() -> None:
    assert human.printable("é\x1b[0m\n") == "é\\x1b[0m\\n"


@pytest.mark.parametrize(("number", "expected"), [(0, "0 files"), (1, "1 file"), (2, "2 files")])
def test_one_is_not_many(number: int, expected: str) -> None:
    assert human.count(number, "file") == expected
