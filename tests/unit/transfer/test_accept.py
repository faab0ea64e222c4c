from __future__ import annotations

import pytest

from cached.transfer.accept import Asked, is_strong, refuse, same_etag
from cached.transfer.head import Head
from cached.transfer.protocol import Fault

TOTAL = 1000
PART = Asked(offset=100, length=200, total=TOTAL, ranged=True, etag='"v1"')
FIRST = Asked(offset=0, length=200, total=TOTAL, ranged=True, etag='"v1"')
ALL_RANGED = Asked(offset=0, length=TOTAL, total=TOTAL, ranged=True, etag='"v1"')
STREAM = Asked(offset=0, length=TOTAL, total=TOTAL, ranged=False, etag='"v1"')
EMPTY = Asked(offset=0, length=0, total=0, ranged=False, etag='"v1"')


def head(status: int, length: int | None, **headers: str) -> Head:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Head(status=status, headers=named, length=length, keep_alive=True)


def fault(asked: Asked, answer: Head) -> Fault | None:
    refusal = refuse(asked, answer)
    return refusal.fault if refusal else None


RANGE = "bytes 100-299/1000"
WHOLE_RANGE = "bytes 0-999/1000"

TAKEN = {
    "the range as asked": (PART, head(206, 200, content_range=RANGE, etag='"v1"')),
    "the range unit in capitals": (PART, head(206, 200, content_range="Bytes 100-299/1000")),
    "no etag sent": (PART, head(206, 200, content_range=RANGE)),
    "identity encoding, said aloud": (PART, head(206, 200, content_range=RANGE, content_encoding="identity")),
    "an object stored compressed": (PART, head(206, 200, content_range=RANGE, content_encoding="gzip")),
    "a 200 that carries the range": (PART, head(200, 200, content_range=RANGE)),
    "a 200 to a range that is everything": (ALL_RANGED, head(200, TOTAL)),
    "a 200 to no range": (STREAM, head(200, TOTAL, etag='"v1"')),
    "a stored compressed object to no range": (STREAM, head(200, TOTAL, content_encoding="gzip")),
    "a 206 of everything to no range": (STREAM, head(206, TOTAL, content_range=WHOLE_RANGE)),
    "an empty object": (EMPTY, head(200, 0)),
}

REFUSED = {
    "another start": (PART, head(206, 200, content_range="bytes 101-300/1000"), Fault.PROTOCOL),
    "another end": (PART, head(206, 200, content_range="bytes 100-298/1000"), Fault.PROTOCOL),
    "another total": (PART, head(206, 200, content_range="bytes 100-299/1001"), Fault.CHANGED),
    "an unknown total": (PART, head(206, 200, content_range="bytes 100-299/*"), Fault.PROTOCOL),
    "no content range": (PART, head(206, 200), Fault.PROTOCOL),
    "an unreadable content range": (PART, head(206, 200, content_range="100-299/1000"), Fault.PROTOCOL),
    "two content ranges": (PART, head(206, 200, content_range=f"{RANGE}, {RANGE}"), Fault.PROTOCOL),
    "a shorter body": (PART, head(206, 199, content_range=RANGE), Fault.PROTOCOL),
    "a longer body": (PART, head(206, 201, content_range=RANGE), Fault.PROTOCOL),
    "no length": (PART, head(206, None, content_range=RANGE), Fault.PROTOCOL),
    "chunked": (PART, head(206, None, content_range=RANGE, transfer_encoding="chunked"), Fault.PROTOCOL),
    "chunked beside a length": (
        PART,
        head(206, 200, content_range=RANGE, transfer_encoding="chunked"),
        Fault.PROTOCOL,
    ),
    "several parts": (
        PART,
        head(206, 200, content_range=RANGE, content_type="Multipart/ByteRanges; boundary=x"),
        Fault.PROTOCOL,
    ),
    "compressed on the way": (PART, head(206, 150, content_encoding="gzip"), Fault.PROTOCOL),
    "compressed whole to a range": (PART, head(200, 700, content_encoding="gzip"), Fault.PROTOCOL),
    "compressed whole to no range": (STREAM, head(200, 700, content_encoding="br"), Fault.PROTOCOL),
    "another etag": (PART, head(206, 200, content_range=RANGE, etag='"v2"'), Fault.CHANGED),
    "a weak etag for a strong one": (PART, head(206, 200, content_range=RANGE, etag='W/"v1"'), Fault.CHANGED),
    "another etag on a 200": (STREAM, head(200, TOTAL, etag='"v2"'), Fault.CHANGED),
    "the whole object to a range": (PART, head(200, TOTAL), Fault.WHOLE),
    "the whole object to its first range": (FIRST, head(200, TOTAL), Fault.WHOLE),
    "the whole object chunked to a range": (PART, head(200, None, transfer_encoding="chunked"), Fault.WHOLE),
    "a 200 that is as long as the range": (PART, head(200, 200), Fault.WHOLE),
    "a 200 with another range": (PART, head(200, 200, content_range="bytes 0-199/1000"), Fault.WHOLE),
    "a 200 of everything that says another range": (ALL_RANGED, head(200, TOTAL, content_range="x"), Fault.WHOLE),
    "another size to no range": (STREAM, head(200, 999), Fault.CHANGED),
    "no length to no range": (STREAM, head(200, None), Fault.PROTOCOL),
    "chunked to no range": (STREAM, head(200, None, transfer_encoding="chunked"), Fault.PROTOCOL),
    "a part to no range": (STREAM, head(206, 200, content_range=RANGE), Fault.PROTOCOL),
    "bytes of an empty object": (EMPTY, head(200, 1), Fault.CHANGED),
    "412": (PART, head(412, 0), Fault.CHANGED),
    "416 inside the object": (PART, head(416, 0, content_range="bytes */1000"), Fault.STATUS),
    "301": (PART, head(301, 0, location="https://elsewhere/"), Fault.REDIRECT),
    "307": (PART, head(307, 0), Fault.REDIRECT),
    "204": (PART, head(204, None), Fault.STATUS),
    "400": (PART, head(400, 0), Fault.STATUS),
    "403": (PART, head(403, 0), Fault.STATUS),
    "404": (PART, head(404, 0), Fault.STATUS),
    "503": (PART, head(503, 0), Fault.STATUS),
}


@pytest.mark.parametrize("name", TAKEN)
def test_an_answer_that_is_provably_the_bytes_asked_for_is_taken(name: str) -> None:
    asked, answer = TAKEN[name]
    assert fault(asked, answer) is None


@pytest.mark.parametrize("name", REFUSED)
def test_every_other_answer_is_refused_for_what_is_wrong_with_it(name: str) -> None:
    asked, answer, expected = REFUSED[name]
    assert fault(asked, answer) is expected


@pytest.mark.parametrize(
    ("pinned", "answered", "expected"),
    [
        ('"a"', '"a"', True),
        ('"a"', '"b"', False),
        ('"a"', 'W/"a"', False),
        ('W/"a"', 'W/"a"', True),
        ('W/"a"', '"a"', True),
        ('W/"a"', 'W/"b"', False),
        ('"a"', "a", True),
        ("a", '"a"', True),
        ('"a"', '"a-gzip"', False),
    ],
)
def test_etags_compare_strongly_unless_only_a_weak_one_was_pinned(
    pinned: str, answered: str, *, expected: bool
) -> None:
    assert same_etag(pinned, answered) is expected


def test_a_weak_tag_is_told_from_a_strong_one() -> None:
    assert (is_strong('"a"'), is_strong('W/"a"')) == (True, False)
