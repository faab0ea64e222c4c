"""How the server is used: plain files, its record, its rate, its end, and itself as a program."""

from __future__ import annotations

import http.client
import json
import select
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from tests.helpers.hostile import Hostile, Synthetic
from tests.helpers.hostile import faults as wrong


def get(server: Hostile, target: str, **headers: str) -> tuple[http.client.HTTPMessage, bytes]:
    request = urllib.request.Request(f"{server.url}/{target}", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.headers, answer.read()


@pytest.mark.parametrize("etag", ['"strong"', 'W/"weak"', None])
def test_a_plain_file_has_the_etag_it_was_given(hostile: Hostile, etag: str | None) -> None:
    hostile.put_file("f/model.bin", b"weights", etag=etag)
    headers, body = get(hostile, "f/model.bin?X-Signature=abc")
    assert (headers["ETag"], headers["Accept-Ranges"], body) == (etag, "bytes", b"weights")


def test_a_file_without_ranges_neither_says_nor_obeys_them(hostile: Hostile) -> None:
    hostile.put_file("f/model.bin", b"weights", ranges=False)
    headers, body = get(hostile, "f/model.bin", Range="bytes=0-1")
    assert (headers["Accept-Ranges"], body) == (None, b"weights")


def test_every_request_is_recorded_with_what_was_sent(hostile: Hostile) -> None:
    hostile.put("b/k", 1000)
    get(hostile, "b/k", Range="bytes=10-19")
    get(hostile, "b/k")
    assert [(seen.range, seen.status, seen.sent) for seen in hostile.asked("b/k")] == [
        ("bytes=10-19", 206, 10),
        (None, 200, 1000),
    ]
    assert hostile.payload == 1010


def test_an_action_runs_before_its_request_is_answered(hostile: Hostile) -> None:
    hostile.put("b/k", b"old")
    hostile.when("b/k", lambda: hostile.put("b/k", b"new"), skip=1)
    assert [get(hostile, "b/k")[1] for _ in range(3)] == [b"old", b"new", b"new"]


def test_the_rate_holds_for_all_connections_together() -> None:
    with Hostile(rate=2 << 20) as server:
        server.put("b/k", 500_000)
        threads = [threading.Thread(target=get, args=(server, "b/k")) for _ in range(2)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert time.monotonic() - begin >= 0.4


def test_stop_ends_stalled_and_idle_connections_and_leaves_no_thread() -> None:
    before = threading.active_count()
    server = Hostile()
    server.put("b/k", 1000)
    server.misbehave("b/k", wrong.Stall(after=10))
    connections = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(2)]
    for connection, target in zip(connections, ("b/k", "-/stats"), strict=True):
        connection.sendall(f"GET /{target} HTTP/1.1\r\n\r\n".encode())
        assert select.select([connection], [], [], 10)[0]
    server.stop()
    for connection in connections:
        while connection.recv(65536):
            pass
        connection.close()
    assert threading.active_count() == before


def test_the_program_prints_its_address_serves_and_ends_with_its_input() -> None:
    command = [sys.executable, "-m", "tests.helpers.hostile", "--object", "b/k=1KiB", "--until-eof"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        address = json.loads(process.stdout.readline())
        with urllib.request.urlopen(f"{address['url']}/b/k", timeout=10) as answer:
            assert answer.read() == Synthetic(1024, "b/k").read(0, 1024)
        with urllib.request.urlopen(f"{address['url']}/-/stats", timeout=10) as answer:
            assert json.load(answer) == {"payload": 1024, "requests": 1}
        process.communicate(timeout=10)
    assert process.returncode == 0
