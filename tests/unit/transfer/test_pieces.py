from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cached.transfer.pieces import Pieces, Range

BLOCK = 4096


def drain(pieces: Pieces) -> list[Range]:
    taken = []
    while (found := pieces.take()) is not None:
        taken.append(found)
    return taken


def test_a_file_is_cut_into_parts_and_a_shorter_tail() -> None:
    assert drain(Pieces(10 * BLOCK + 5, 4 * BLOCK)) == [
        Range(0, 4 * BLOCK),
        Range(4 * BLOCK, 4 * BLOCK),
        Range(8 * BLOCK, 2 * BLOCK + 5),
    ]


def test_an_empty_file_is_complete_and_has_nothing_to_take() -> None:
    pieces = Pieces(0, BLOCK)
    assert (pieces.complete, pieces.take(), pieces.first_missing()) == (True, None, None)


def test_the_rest_of_a_part_that_broke_off_is_taken_up_to_the_same_boundary() -> None:
    pieces = Pieces(8 * BLOCK, 4 * BLOCK)
    assert pieces.take() == Range(0, 4 * BLOCK)
    pieces.place(Range(0, BLOCK))
    pieces.give_back(Range(BLOCK, 3 * BLOCK))
    assert drain(pieces) == [Range(BLOCK, 3 * BLOCK), Range(4 * BLOCK, 4 * BLOCK)]


def test_the_prefix_grows_only_over_what_is_contiguous() -> None:
    pieces = Pieces(3 * BLOCK, BLOCK)
    first, second, third = drain(pieces)
    pieces.place(third)
    pieces.place(first)
    before = pieces.prefix
    pieces.place(second)
    assert (before, pieces.prefix, pieces.complete) == (BLOCK, 3 * BLOCK, True)


def test_a_damaged_part_goes_missing_again_and_the_prefix_with_it() -> None:
    pieces = Pieces(2 * BLOCK, BLOCK)
    for part in drain(pieces):
        pieces.place(part)
    pieces.give_back(Range(0, BLOCK))
    assert (pieces.prefix, pieces.complete, pieces.first_missing()) == (0, False, 0)


def test_ranges_of_an_earlier_run_that_overlap_or_lie_outside_are_left_missing() -> None:
    pieces = Pieces(4 * BLOCK, BLOCK)
    kept = pieces.adopt([Range(BLOCK, BLOCK), Range(0, BLOCK), Range(BLOCK, 2 * BLOCK), Range(3 * BLOCK, 9 * BLOCK)])
    assert kept == (Range(0, BLOCK), Range(BLOCK, BLOCK))
    assert drain(pieces) == [Range(2 * BLOCK, BLOCK), Range(3 * BLOCK, BLOCK)]


@given(
    size=st.integers(0, 40 * BLOCK),
    part=st.integers(1, 8).map(lambda blocks: blocks * BLOCK),
    luck=st.lists(st.integers(0, 8), max_size=60),
)
def test_whatever_breaks_off_each_byte_is_placed_exactly_once(size: int, part: int, luck: list[int]) -> None:
    pieces, placed = Pieces(size, part), []
    while (taken := pieces.take()) is not None:
        good = min(taken.length, luck.pop() * BLOCK) if luck else taken.length
        if good:
            pieces.place(Range(taken.offset, good))
            placed.append((taken.offset, taken.offset + good))
        pieces.give_back(Range(taken.offset + good, taken.length - good))
    ends = [0, *(end for _, end in sorted(placed))]
    assert pieces.complete
    assert pieces.prefix == size
    assert [start for start, _ in sorted(placed)] == ends[:-1]
