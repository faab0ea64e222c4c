"""The client against servers that answer badly, or not at all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cached.api import client as module
from cached.api.client import Client, error_of
from cached.api.types import ErrorBody
from cached.errors import TABLE, CachedError, Code, Conflict, NotAuthorized, NotFound, Retryable
from cached.types import ModelName

STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextmanager
def answering(path: Path, answer: bytes | None) -> Iterator[Client]:
    """Sends `answer` to one caller and hangs up; None stays silent until the caller leaves."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        with closing(listener), closing(listener.accept()[0]) as connection:
            connection.recv(65536)
            if answer is None:
                connection.recv(1)
            else:
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    yield Client(path)
    thread.join(10)
    assert not thread.is_alive()


def unreachable(client: Client) -> Retryable:
    with pytest.raises(Retryable) as caught:
        client.status()
    assert caught.value.code is Code.DAEMON_UNREACHABLE
    return caught.value


def test_a_socket_that_is_not_there_is_unreachable_and_says_how_to_mend_it(tmp_path: Path) -> None:
    error = unreachable(Client(tmp_path / "s"))
    assert error.message == f"no daemon answers at {tmp_path}/s"
    assert "cached serve" in error.hint
    assert "CACHED_SOCKET" in error.hint


def test_a_socket_that_nobody_serves_is_unreachable(tmp_path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as left_behind:
        left_behind.bind(str(tmp_path / "s"))
    assert unreachable(Client(tmp_path / "s")).message.startswith("no daemon answers")


def test_a_socket_that_may_not_be_opened_is_not_authorized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(module._UnixConnection, "connect", refuse)
    with pytest.raises(NotAuthorized, match="no permission to use the socket") as caught:
        Client(tmp_path / "s").status()
    assert "group" in caught.value.hint


def test_a_path_too_long_for_a_socket_is_an_error_with_its_reason(tmp_path: Path) -> None:
    assert "too long" in unreachable(Client(tmp_path / ("x" * 200))).message


@pytest.mark.parametrize(
    "answer",
    [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", STREAM + b"5\r\nab"],
)
def test_a_truncated_answer_is_never_taken_as_complete(tmp_path: Path, answer: bytes) -> None:
    with answering(tmp_path / "s", answer) as client:
        assert unreachable(client).message == "the daemon went away in the middle of an answer"


def test_a_silent_daemon_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_TIMEOUT", 0.1)
    with answering(tmp_path / "s", None) as client:
        assert unreachable(client).message.startswith("the daemon has been silent")


@pytest.mark.parametrize("body", [b"hello", b'{"unknown": 1}'])
def test_an_answer_of_another_version_says_so(tmp_path: Path, body: bytes) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    with answering(tmp_path / "s", answer) as client, pytest.raises(CachedError, match="makes no sense") as caught:
        client.status()
    assert caught.value.hint == "daemon and command are of different versions"


@pytest.mark.parametrize("end", [b"", b"0\r\n\r\n", b"a\r\n"])
def test_a_stream_without_its_last_event_is_broken(tmp_path: Path, end: bytes) -> None:
    with (
        answering(tmp_path / "s", STREAM + b"1\r\n\n\r\n" + end) as client,
        pytest.raises(Retryable, match="went away"),
    ):
        list(client.events(ModelName("m")))


@pytest.mark.parametrize("code", list(Code))
def test_every_code_comes_back_as_an_error_with_that_code(code: Code) -> None:
    error = error_of(ErrorBody(code=code, message="m", hint="h", details={"n": 1}))
    assert (error.code, error.message, error.hint, error.details) == (code, "m", "h", {"n": 1})
    assert error.exit_code is TABLE[code].exit


@pytest.mark.parametrize(
    ("code", "kind"), [(Code.CONFLICT, Conflict), (Code.NOT_FOUND, NotFound), (Code.STALLED, Retryable)]
)
def test_an_error_is_of_the_class_that_its_code_belongs_to(code: Code, kind: type[CachedError]) -> None:
    assert type(error_of(ErrorBody(code=code, message=""))) is kind
