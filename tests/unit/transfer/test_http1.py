"""The payload client over real sockets, against scripts of raw answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cached.sources.base import Request
from cached.transfer.head import HEAD_MAX
from cached.transfer.http1 import Connection, Limits, StaleConnectionError, request_bytes
from cached.transfer.outcome import JobFault
from cached.transfer.protocol import Fault, Fetch
from cached.transfer.stream import Origin, connect
from tests.helpers.rawserver import RawServer

LIMITS = Limits(connect=5, first_byte=2, stall_window=2, stall_floor=1000)
ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"


def connection_to(server: RawServer) -> Connection:
    return Connection(connect(Origin("http", "127.0.0.1", server.port, None), timeout=5), LIMITS)


def body(connection: Connection, length: int) -> bytes:
    buffer = memoryview(bytearray(length))
    got = 0
    while got < length:
        got += connection.receive(buffer[got:])
    return bytes(buffer)


def fault_of(action: Callable[[], object]) -> Fault:
    with pytest.raises(JobFault) as caught:
        action()
    return caught.value.fault


def fetch(*, target: str = "/k?a=%20b", headers: tuple[tuple[str, str], ...] = (), **fields: object) -> Fetch:
    request = Request(scheme="http", host="h", port=80, target=target, headers=(("Host", "h"), *headers))
    given: dict[str, object] = {"offset": 4096, "length": 10, "total": 9999, "ranged": True, "etag": '"v"'}
    return Fetch(job=1, lane=0, file=1, request=request, digest=False, checksum=None, **{**given, **fields})  # type: ignore[arg-type]


def lines(command: Fetch) -> list[bytes]:
    return request_bytes(command).split(b"\r\n")


def test_a_request_goes_out_as_it_is_with_its_range_and_pin() -> None:
    assert request_bytes(fetch(headers=(("Authorization", "AWS4 x"),))) == (
        b"GET /k?a=%20b HTTP/1.1\r\nHost: h\r\nAuthorization: AWS4 x\r\n"
        b'Range: bytes=4096-4105\r\nIf-Match: "v"\r\nAccept-Encoding: identity\r\n\r\n'
    )


def test_what_is_signed_is_not_said_twice() -> None:
    sent = lines(fetch(headers=(("range", "bytes=4096-4105"), ("if-match", '"v"'))))
    assert [line for line in sent if line.lower().startswith((b"range", b"if-match"))] == [
        b"range: bytes=4096-4105",
        b'if-match: "v"',
    ]


def test_one_stream_has_no_range() -> None:
    assert not any(line.startswith(b"Range") for line in lines(fetch(ranged=False, offset=0)))


def test_a_weak_tag_is_never_a_condition_because_it_never_matches() -> None:
    assert not any(line.startswith(b"If-Match") for line in lines(fetch(etag='W/"v"')))


@pytest.mark.parametrize(
    ("target", "headers"),
    [("/a\r\nX: 1", ()), ("/a b", ()), ("/a", (("X", "1\r\nY: 2"),)), ("/a", (("X", "1\nY"),)), ("/\u20ac", ())],
)
def test_a_request_that_would_break_its_lines_is_not_sent(target: str, headers: tuple[tuple[str, str], ...]) -> None:
    assert fault_of(lambda: request_bytes(fetch(target=target, headers=headers))) is Fault.PROTOCOL


def test_answers_follow_each_other_on_one_connection() -> None:
    with RawServer([OK, OK]) as server:
        connection = connection_to(server)
        for _ in range(2):
            head = connection.ask(ASK)
            assert (head.status, body(connection, 3)) == (200, b"abc")
        connection.close()
    assert server.requests == [[ASK, ASK]]


def test_interim_answers_are_skipped() -> None:
    with RawServer([b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK]) as server:
        connection = connection_to(server)
        assert connection.ask(ASK).status == 200
        assert body(connection, 3) == b"abc"
        connection.close()


def test_a_quiet_connection_is_reusable() -> None:
    with RawServer([OK, OK]) as server:
        connection = connection_to(server)
        connection.ask(ASK)
        body(connection, 3)
        assert connection.reusable
        connection.close()


def test_bytes_after_an_answer_make_the_connection_useless() -> None:
    with RawServer([OK + b"HTTP/1.1 200 OK\r\n", OK]) as server:
        connection = connection_to(server)
        connection.ask(ASK)
        body(connection, 3)
        assert not connection.reusable
        connection.close()


def test_a_kept_connection_that_the_server_closed_is_stale_not_a_fault() -> None:
    with RawServer([OK]) as server:
        connection = connection_to(server)
        connection.ask(ASK)
        body(connection, 3)
        with pytest.raises(StaleConnectionError):
            connection.ask(ASK)
        connection.close()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"", Fault.CONNECT),
        (b"HTTP/1.1 200 OK\r\nContent-", Fault.CONNECT),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n folded\r\n\r\n", Fault.PROTOCOL),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", Fault.PROTOCOL),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", Fault.PROTOCOL),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * HEAD_MAX, Fault.PROTOCOL),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 4000, Fault.PROTOCOL),
    ],
    ids=["nothing", "half a head", "folded", "101", "another protocol", "endless head", "endless interim answers"],
)
def test_an_answer_without_a_proper_head_is_a_fault(answer: bytes, expected: Fault) -> None:
    with RawServer([answer]) as server:
        connection = connection_to(server)
        assert fault_of(lambda: connection.ask(ASK)) is expected
        connection.close()


def test_an_end_inside_the_body_is_short_however_long_the_reader_asks() -> None:
    with RawServer([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"]) as server:
        connection = connection_to(server)
        connection.ask(ASK)
        assert body(connection, 3) == b"abc"
        assert fault_of(lambda: connection.receive(memoryview(bytearray(6)))) is Fault.SHORT
        connection.close()


def excerpt(answer: bytes) -> str:
    with RawServer([answer, b""]) as server:
        connection = connection_to(server)
        text = connection.excerpt(connection.ask(ASK))
        connection.close()
    return text


def test_an_error_text_is_read_by_its_length_without_waiting_for_more() -> None:
    assert excerpt(b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n<xml>") == "<xml>"


def test_an_error_text_that_comes_chunked_is_read() -> None:
    head = b"HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert excerpt(head + b"3\r\n<xm\r\n2\r\nl>\r\n0\r\n\r\n") == "<xml>"


def test_an_error_text_is_cut_at_2_kib() -> None:
    assert excerpt(b"HTTP/1.1 500 X\r\nContent-Length: 9000\r\n\r\n" + b"a" * 9000) == "a" * 2048
