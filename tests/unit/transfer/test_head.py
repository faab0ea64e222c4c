from __future__ import annotations

import pytest

from cached.transfer.head import BadHeadError, parse_head


def parsed(*lines: str) -> bytes:
    return "\r\n".join(lines).encode("latin-1")


def test_a_head_is_status_and_lower_case_headers() -> None:
    head = parse_head(parsed("HTTP/1.1 206 Partial Content", 'ETag:  "a b" ', "Content-Length: 5"))
    assert head.status == 206
    assert head.headers == {"etag": '"a b"', "content-length": "5"}
    assert head.length == 5


def test_a_missing_reason_phrase_is_allowed() -> None:
    assert parse_head(b"HTTP/1.1 200").status == 200


def test_a_repeated_header_is_joined() -> None:
    assert parse_head(parsed("HTTP/1.1 200 OK", "X-A: 1", "x-a: 2")).headers == {"x-a": "1, 2"}


@pytest.mark.parametrize("lines", [("Content-Length: 5", "Content-Length: 5"), ("Content-Length: 5, 5",)])
def test_a_length_said_twice_alike_counts_once(lines: tuple[str, ...]) -> None:
    assert parse_head(parsed("HTTP/1.1 200 OK", *lines)).length == 5


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: 5, 6",),
        ("Content-Length: +5",),
        ("Content-Length: 0x5",),
        ("Content-Length: -5",),
        ("Content-Length: ",),
        ("Content-Length: 5 5",),
        (f"Content-Length: {'9' * 20}",),
        ("X-Folded: a", " b"),
        ("X-Folded: a", "\tb"),
        ("X-Space : a",),
        ("no colon",),
        (": no name",),
        ("X-Null: a\0b",),
        ("X-Bare: a\rb",),
        ("X-Bare: a\nContent-Length: 7",),
    ],
)
def test_what_two_readers_could_understand_differently_is_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(BadHeadError):
        parse_head(parsed("HTTP/1.1 200 OK", *lines))


@pytest.mark.parametrize(
    "line", ["", "HTTP/2 200", "HTTP/1.2 200 OK", "http/1.1 200 OK", "HTTP/1.1 20 OK", "HTTP/1.1  200 OK", "ICY 200 OK"]
)
def test_a_status_line_of_another_protocol_is_refused(line: str) -> None:
    with pytest.raises(BadHeadError):
        parse_head(line.encode())


@pytest.mark.parametrize(
    ("status_line", "connection", "expected"),
    [
        ("HTTP/1.1 200 OK", "keep-alive", True),
        ("HTTP/1.1 200 OK", "Upgrade, Close", False),
        ("HTTP/1.1 200 OK", "close", False),
        ("HTTP/1.0 200 OK", "keep-alive", False),
    ],
)
def test_a_connection_is_kept_only_by_http_1_1_without_close(
    status_line: str, connection: str, *, expected: bool
) -> None:
    assert parse_head(parsed(status_line, f"Connection: {connection}")).keep_alive is expected


def test_only_headers_that_someone_has_a_use_for_are_kept() -> None:
    head = parse_head(
        parsed(
            "HTTP/1.1 200 OK", "Set-Cookie: secret", "ETag: a", "x-amz-version-id: 3", "X-Goog-Hash: c", "RateLimit: 5"
        )
    )
    assert head.kept() == {"etag": "a", "x-amz-version-id": "3", "x-goog-hash": "c", "ratelimit": "5"}
