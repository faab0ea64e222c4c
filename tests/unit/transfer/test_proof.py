from __future__ import annotations

import pytest

from cached.errors import Code, Corrupt
from cached.sources.base import Entry, Pin
from cached.transfer.proof import Measured, judge
from cached.types import Digest, Level

A, B = Digest("a" * 64), Digest("b" * 64)


def entry(*, sha256: Digest | None = None, md5: str | None = None, checksum: tuple[str, str] | None = None) -> Entry:
    return Entry(path="f", size=1, pin=Pin(validator="v"), locator="f", sha256=sha256, md5=md5, checksum=checksum)


@pytest.mark.parametrize(
    ("promises", "measured", "expected", "level"),
    [
        (entry(), Measured(A), None, Level.SIZE),
        (entry(), Measured(A), A, Level.DIGEST),
        (entry(sha256=A), Measured(A), None, Level.DIGEST),
        (entry(md5="m"), Measured(A, md5="m"), None, Level.CHECKSUM),
        (entry(checksum=("crc32", "c")), Measured(A, checksum="c"), None, Level.CHECKSUM),
        (entry(md5="m"), Measured(A, md5="m"), A, Level.DIGEST),
        (entry(checksum=("crc32", "c")), Measured(A), None, Level.SIZE),
    ],
)
def test_the_level_is_the_strongest_promise_that_was_checked(
    promises: Entry, measured: Measured, expected: Digest | None, level: Level
) -> None:
    assert judge(promises, measured, expected=expected) == level


@pytest.mark.parametrize(
    ("promises", "measured", "expected"),
    [
        (entry(), Measured(A), B),
        (entry(sha256=B), Measured(A), None),
        (entry(md5="x"), Measured(A, md5="m"), None),
        (entry(checksum=("crc32", "x")), Measured(A, checksum="c"), None),
        (entry(md5="x"), Measured(A, md5="m"), A),
    ],
)
def test_any_promise_that_does_not_hold_refuses_the_file(
    promises: Entry, measured: Measured, expected: Digest | None
) -> None:
    with pytest.raises(Corrupt) as caught:
        judge(promises, measured, expected=expected)
    assert caught.value.code is Code.DIGEST_MISMATCH
    assert caught.value.details["path"] == "f"
