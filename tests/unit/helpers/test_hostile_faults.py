"""Each fault, seen from the client's side of the wire."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import select
import socket
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest

from tests.helpers.hostile import Hostile, Op, Synthetic
from tests.helpers.hostile import faults as wrong

SIZE = 100_000
BODY = Synthetic(SIZE, "b/k").read(0, SIZE)
TARGET = "b/k"


@pytest.fixture
def server(hostile: Hostile) -> Hostile:
    hostile.put(TARGET, SIZE)
    return hostile


class Answer:
    """A whole answer: its bytes up to the end of the connection, told apart by hand."""

    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split(" ")[1]) if head else 0
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}


def connect(server: Hostile) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=10)


def send(connection: socket.socket, target: str = TARGET, **headers: str) -> None:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    connection.sendall(f"GET /{target} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode())


def receive(connection: socket.socket) -> Answer:
    """Everything until the server ends the connection, which the faults that leave it open do not."""
    pieces = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return Answer(b"".join(pieces))


def raw(server: Hostile, **headers: str) -> Answer:
    with connect(server) as connection:
        send(connection, **headers)
        return receive(connection)


def get(server: Hostile, target: str = TARGET, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    """An answer with correct framing, through http.client."""
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    with contextlib.closing(client):
        client.request("GET", f"/{target}", headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = client.getresponse()
        with answer:
            return answer, answer.read()


def test_a_cut_promises_all_and_sends_some(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.Cut(after=1000))
    answer = raw(server)
    assert (answer.headers["content-length"], answer.body) == (str(SIZE), BODY[:1000])


def test_a_fault_ends_after_its_times_and_begins_after_its_skip(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.slow_down(), times=2, skip=1)
    assert [get(server)[0].status for _ in range(5)] == [200, 503, 503, 200, 200]


def test_faults_compose(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.Flip(at=7))
    server.misbehave(TARGET, wrong.Cut(after=10))
    assert raw(server).body == BODY[:7] + bytes([BODY[7] ^ 1]) + BODY[8:10]


def test_a_fault_strikes_only_its_path_and_kind(server: Hostile) -> None:
    server.put("b/other", b"fine")
    server.misbehave("b/k*", wrong.access_denied(), op=Op.HEAD)
    assert get(server)[0].status == 200
    client = http.client.HTTPConnection("127.0.0.1", server.port)
    client.request("HEAD", f"/{TARGET}")
    assert client.getresponse().status == 403
    client.close()


def test_a_reset_is_an_error_and_not_an_end(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.Reset(after=1000))
    with pytest.raises(ConnectionResetError):
        raw(server)


def test_a_hangup_answers_nothing(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.Hangup())
    with pytest.raises(http.client.RemoteDisconnected):
        get(server)


@pytest.mark.parametrize("fault", [wrong.Stall(after=10), wrong.Mute()])
def test_a_stall_leaves_the_connection_open_and_silent(server: Hostile, fault: wrong.Fault) -> None:
    server.misbehave(TARGET, fault)
    with connect(server) as connection:
        send(connection)
        while select.select([connection], [], [], 0.2)[0]:
            assert connection.recv(65536) != b""


def test_a_trickle_keeps_to_its_rate(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.Trickle(rate=200))
    begin = time.monotonic()
    with connect(server) as connection:
        send(connection)
        seen = b""
        while len(seen.partition(b"\r\n\r\n")[2]) < 60:
            seen += connection.recv(65536)
    assert time.monotonic() - begin >= 0.15


def test_a_half_close_still_delivers_everything_to_a_slow_reader(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.HalfClose())
    with connect(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
        send(connection)
        assert receive(connection).body == BODY
        connection.sendall(b"the other direction is still open")


def test_a_short_length_is_honest_about_too_little(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.ShortLength(by=3))
    answer, body = get(server, Range="bytes=0-9")
    assert answer.headers["Content-Range"] == f"bytes 0-9/{SIZE}"
    assert (answer.headers["Content-Length"], body) == ("7", BODY[:7])


@pytest.mark.parametrize(("after", "expected"), [(None, BODY), (5, BODY[:5])])
def test_without_a_length_a_cut_looks_like_an_end(server: Hostile, after: int | None, expected: bytes) -> None:
    server.misbehave(TARGET, wrong.NoLength(after=after))
    answer, body = get(server)
    assert (answer.headers["Content-Length"], body) == (None, expected)


def test_chunks_can_be_cut(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.Chunked())
    server.misbehave(TARGET, wrong.Chunked(after=5), skip=1)
    assert get(server)[1] == BODY
    with pytest.raises(http.client.IncompleteRead):
        get(server)


def test_extra_bytes_follow_the_body(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.Extra(b"!!"))
    with connect(server) as connection:
        send(connection, Range="bytes=0-3")
        seen = b""
        while not seen.endswith(b"!!"):
            seen += connection.recv(65536)
    assert Answer(seen).body == BODY[:4] + b"!!"


def test_gzip_changes_length_and_bytes(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.Gzip())
    answer, body = get(server, Range="bytes=0-99")
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == BODY[:100]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (wrong.IgnoreRange(), (200, None, BODY)),
        (wrong.RangedOk(), (200, f"bytes 100-199/{SIZE}", BODY[100:200])),
        (wrong.WrongStart(by=5), (206, f"bytes 105-204/{SIZE}", BODY[105:205])),
        (wrong.WrongTotal(by=1), (206, f"bytes 100-199/{SIZE + 1}", BODY[100:200])),
    ],
)
def test_a_range_is_answered_wrongly(server: Hostile, fault: wrong.Fault, expected: tuple[int, str, bytes]) -> None:
    server.misbehave(TARGET, fault)
    answer, body = get(server, Range="bytes=100-199")
    assert expected == (answer.status, answer.headers["Content-Range"], body)


def test_a_range_comes_as_multipart(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.Multipart())
    answer, body = get(server, Range="bytes=100-199")
    assert (answer.status, answer.headers["Content-Type"]) == (206, "multipart/byteranges; boundary=cut")
    assert BODY[100:200] in body
    assert f"Content-Range: bytes 100-199/{SIZE}".encode() in body


def test_a_header_is_replaced_or_left_out(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.Header("ETag", '"new"'))
    server.misbehave(TARGET, wrong.Header("accept-ranges", None))
    answer, _ = get(server)
    assert (answer.headers["ETag"], answer.headers["Accept-Ranges"]) == ('"new"', None)


@pytest.mark.parametrize(
    ("fault", "status", "code", "header"),
    [
        (wrong.slow_down(), 503, "SlowDown", ("Retry-After", None)),
        (wrong.slow_down(retry_after=7), 503, "SlowDown", ("Retry-After", "7")),
        (wrong.too_many(seconds=55), 429, "TooManyRequests", ("RateLimit", '"api";r=0;t=55')),
        (wrong.not_satisfiable(), 416, "InvalidRange", ("Retry-After", None)),
        (wrong.precondition_failed(), 412, "PreconditionFailed", ("Retry-After", None)),
        (wrong.expired_token(), 400, "ExpiredToken", ("Retry-After", None)),
        (wrong.access_denied(), 403, "AccessDenied", ("Retry-After", None)),
        (wrong.other_region("eu-west-3"), 301, "PermanentRedirect", ("x-amz-bucket-region", "eu-west-3")),
    ],
)
def test_a_refusal_is_an_s3_error(
    server: Hostile, fault: wrong.Fault, status: int, code: str, header: tuple[str, str | None]
) -> None:
    server.misbehave(TARGET, fault)
    answer, body = get(server)
    assert (answer.status, answer.headers[header[0]]) == (status, header[1])
    assert f"<Code>{code}</Code>".encode() in body


def test_a_redirect_signs_anew_each_time(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.Redirect("http://elsewhere/x?a=1", sign=True), times=None)
    assert [get(server)[0].headers["Location"] for _ in range(2)] == [
        "http://elsewhere/x?a=1&X-Signature=0",
        "http://elsewhere/x?a=1&X-Signature=1",
    ]


def test_an_origin_can_refuse_authorization(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.RefuseAuthorization(), times=None)
    assert (get(server)[0].status, get(server, Authorization="Bearer x")[0].status) == (200, 400)


def test_a_signed_url_expires_after_its_uses_and_a_new_signature_works(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.SignatureExpires(uses=2), times=None)
    targets = [f"{TARGET}?sig=1"] * 3 + [f"{TARGET}?sig=2"]
    assert [get(server, target)[0].status for target in targets] == [200, 200, 403, 200]


def test_a_signed_url_expires_with_time(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.SignatureExpires(seconds=0.0), times=None)
    assert get(server)[0].status == 403


def test_only_the_right_access_key_is_served(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.RequireKey("AKIDEXAMPLE"), times=None)
    signed = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20250901/us-east-1/s3/aws4_request"
    assert (get(server)[0].status, get(server, Authorization=signed)[0].status) == (403, 200)


def test_a_bucket_answers_only_who_signs_for_its_region(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.RequireRegion("eu-west-3"), times=None)
    signed = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20250901/eu-west-3/s3/aws4_request"
    answer, _ = get(server)
    assert (answer.status, answer.headers["x-amz-bucket-region"]) == (301, "eu-west-3")
    assert get(server, Authorization=signed)[0].status == 200


def test_a_skewed_clock_shows_in_the_date_and_refuses_what_is_signed_by_another(server: Hostile) -> None:
    server.misbehave(TARGET, wrong.SkewedClock(by=3600), times=None)
    answer, _ = get(server)
    skew = parsedate_to_datetime(answer.headers["Date"]) - datetime.now(UTC)
    assert round(skew.total_seconds() / 60) == 60
    assert get(server, x_amz_date=datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"))[0].status == 403
