from __future__ import annotations

import pytest

from cached.transfer.chunked import unchunk


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", (b"", False)),
        (b"3\r\nabc\r\n0\r\n\r\n", (b"abc", True)),
        (b"3;name=value\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", (b"abcde", True)),
        (b"A\r\nabc", (b"abc", False)),
        (b"3\r\nabc", (b"abc", False)),
        (b"3\r\nabc\r\n1", (b"abc", False)),
        (b"<html>\r\n", (b"", True)),
    ],
)
def test_chunks_are_joined_as_far_as_they_came(raw: bytes, expected: tuple[bytes, bool]) -> None:
    assert unchunk(raw) == expected
