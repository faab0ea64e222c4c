from __future__ import annotations

import pytest

from cached.sources.base import Entry, Pin
from cached.sources.pins import revision_of
from tests.unit.sources.making import entry

A, B = entry("a"), entry("b")


def test_a_revision_does_not_depend_on_the_order_of_files() -> None:
    assert revision_of([A, B]) == revision_of([B, A])


@pytest.mark.parametrize(
    "other",
    [
        [A],
        [A, entry("c")],
        [A, entry("b", size=2)],
        [A, entry("b", pin=Pin(validator="etag v2", etag='"v2"'))],
        [A, entry("b", pin=Pin(validator="version v1", etag='"v1"', version="v1"))],
    ],
    ids=["a file less", "another name", "another size", "another pin", "a version for an etag"],
)
def test_a_revision_changes_with_names_sizes_and_pins(other: list[Entry]) -> None:
    assert revision_of(other) != revision_of([A, B])


def test_what_an_answer_adds_does_not_change_the_revision() -> None:
    proved = entry("a", md5="0" * 32, checksum=("crc32", "AAAAAA=="), alias=("etag", '"v1"'))
    assert revision_of([proved, B]) == revision_of([A, B])


def test_names_and_pins_cannot_run_into_each_other() -> None:
    one = entry("a", pin=Pin(validator="b"))
    two = entry("ab", pin=Pin(validator=""))
    assert revision_of([one]) != revision_of([two])
