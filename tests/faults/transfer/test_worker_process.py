"""A worker as a process: what it loads, when it dies, what it does when the disk fails."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cached.sources.base import Request, file_validator
from cached.transfer.digests import combine, to_base64
from cached.transfer.protocol import Close, Closed, Done, Failed, Fault, Hello, Open, decode_answer, encode
from tests.helpers.hostile import Hostile, Synthetic, faults
from tests.helpers.rawserver import RawServer
from tests.helpers.worker import WorkerProcess, request_for

MIB = 1 << 20
SIZE = 3 * MIB + 1234
CONTENT = Synthetic(SIZE, "payload")
KEY = "models/a.bin"

ALLOWED = {"cached", "msgspec", "xxhash", "typing_extensions"}
"""Third-party packages that a worker may hold in memory; whatever else there is came with Python."""
HEAVY = {"asyncio", "ssl", "http", "urllib", "email", "logging", "subprocess", "pathlib", "multiprocessing"}
"""Parts of Python that a worker for plain HTTP has no use for."""


def loaded_by_a_worker() -> set[str]:
    """The modules that importing the worker brings in, besides what every interpreter starts with."""
    code = "import sys; bare = set(sys.modules); import cached.transfer.worker; print(*set(sys.modules) - bare)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_a_worker_loads_no_sdk_and_no_framework() -> None:
    packages = {name.partition(".")[0] for name in loaded_by_a_worker()}
    assert packages - set(sys.stdlib_module_names) == ALLOWED


def test_a_worker_for_plain_http_loads_no_heavy_part_of_python() -> None:
    assert HEAVY & loaded_by_a_worker() == set()


def test_a_worker_loads_nothing_of_the_control_process() -> None:
    told = {name for name in loaded_by_a_worker() if name.startswith("cached.")}
    rooms = {".".join(name.split(".")[:2]) for name in told}
    assert rooms == {"cached.codec", "cached.failpoints", "cached.sources", "cached.transfer", "cached.types"}
    assert {"cached.transfer.scheduler", "cached.transfer.pool", "cached.sources.s3"} & told == set()


def test_the_end_of_stdin_ends_a_worker_at_once_even_in_mid_part(hostile: Hostile, tmp_path: Path) -> None:
    hostile.put(KEY, CONTENT)
    hostile.misbehave(KEY, faults.Trickle(1 << 20))
    with WorkerProcess() as worker:
        file = worker.open(tmp_path / "data", size=SIZE)
        worker.say(worker.fetch(file, request_for(hostile, KEY), length=SIZE))
        worker.hear()
        assert worker.end() == (0, "")


def test_a_worker_of_another_parent_exits_before_it_does_anything() -> None:
    with WorkerProcess(parent=1) as worker:
        assert worker.process.wait(timeout=10) == 3


def test_a_worker_dies_with_its_parent_although_its_stdin_stays_open() -> None:
    parent = textwrap.dedent(
        """
        import signal, subprocess, sys
        subprocess.Popen([sys.executable, "-m", "cached.transfer.worker"])
        signal.pause()
        """
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        hello = Hello(parent=process.pid, lanes=1, hash_lanes=1, connect=1, first_byte=1, stall_window=1, stall_floor=1)
        for command in (hello, Open(file=1, path="/unused", size=0, digests=()), Close(job=1, file=1)):
            process.stdin.write(encode(command))
        process.stdin.flush()
        assert decode_answer(process.stdout.readline()) == Closed(job=1, digests={}, covered=0)
        process.kill()
        # The worker's stdin still has its writer here, so only its parent's death can have closed its stdout.
        assert process.stdout.read() == b""


def test_a_worker_goes_on_through_the_signals_that_a_terminal_sends(worker: WorkerProcess, tmp_path: Path) -> None:
    file = worker.open(tmp_path / "data", size=8192)
    worker.hash(file, length=8192)
    worker.process.send_signal(signal.SIGINT)
    worker.process.send_signal(signal.SIGTERM)
    assert worker.hash(file, length=8192).job > 0


def test_nonsense_on_stdin_ends_a_worker_with_a_traceback() -> None:
    with WorkerProcess() as worker:
        assert worker.process.stdin is not None
        worker.process.stdin.write(b'{"type":"dance"}\n')
        worker.process.stdin.flush()
        status, stderr = worker.end()
    assert status == 70
    assert "Traceback" in stderr


def test_digest_jobs_out_of_order_end_a_worker_rather_than_give_a_digest_of_nothing(tmp_path: Path) -> None:
    with WorkerProcess() as worker:
        file = worker.open(tmp_path / "data", size=8192, digests=("sha256",))
        source = tmp_path / "source"
        source.write_bytes(bytes(8192))
        request = Request(scheme="file", target=str(source))
        etag = file_validator(source.stat())
        worker.say(worker.fetch(file, request, offset=4096, length=4096, total=8192, etag=etag, digest=True))
        status, stderr = worker.end_when_it_dies()
    assert status == 70
    assert "they cannot go on at 4096" in stderr


def test_a_full_disk_is_a_disk_fault_with_what_was_written(hostile: Hostile, tmp_path: Path) -> None:
    hostile.put(KEY, CONTENT)
    with WorkerProcess(environment={"CACHED_FAILPOINTS": "worker.write=2*enospc"}) as worker:
        file = worker.open(tmp_path / "data", size=SIZE, digests=("sha256",))
        answer = worker.call(worker.fetch(file, request_for(hostile, KEY), length=SIZE, digest=True))
        closed = worker.close(file)
    assert isinstance(answer, Failed)
    assert (answer.fault, answer.errno, answer.written) == (Fault.DISK, errno.ENOSPC, MIB)
    assert closed.digests["sha256"] == hashlib.sha256(CONTENT.read(0, MIB)).hexdigest()


def test_a_real_limit_of_the_kernel_is_a_disk_fault_too(hostile: Hostile, tmp_path: Path) -> None:
    hostile.put(KEY, CONTENT)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MIB + 8192, MIB + 8192))

    with WorkerProcess(prepare=limit) as worker:
        file = worker.open(tmp_path / "data", size=SIZE)
        answer = worker.call(worker.fetch(file, request_for(hostile, KEY), length=SIZE))
    assert isinstance(answer, Failed)
    assert (answer.fault, answer.errno, answer.written) == (Fault.DISK, errno.EFBIG, MIB)


def test_a_file_that_cannot_be_opened_fails_its_jobs_and_asks_the_server_nothing(
    worker: WorkerProcess, hostile: Hostile, tmp_path: Path
) -> None:
    hostile.put(KEY, CONTENT)
    file = worker.open(tmp_path / "data", size=SIZE)
    (tmp_path / "data").unlink()
    answer = worker.call(worker.fetch(file, request_for(hostile, KEY), length=SIZE))
    assert isinstance(answer, Failed)
    assert (answer.fault, answer.errno) == (Fault.DISK, errno.ENOENT)
    assert hostile.requests == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.integers(0, 8193), skip=st.sampled_from([0, 4096, 8192]))
def test_files_of_every_size_arrive_whole(
    worker: WorkerProcess, hostile: Hostile, tmp_path: Path, size: int, skip: int
) -> None:
    path = f"models/{size}"
    content = Synthetic(size, path)
    hostile.put(path, content)
    file = worker.open(tmp_path / "data", size=size, digests=("sha256",))
    for start, stop in ((0, min(skip, size)), (min(skip, size), size)):
        if stop > start or not size:
            command = worker.fetch(
                file,
                request_for(hostile, path),
                offset=start,
                length=stop - start,
                total=size,
                ranged=size > 0,
                digest=True,
            )
            assert isinstance(worker.call(command), Done)
    closed = worker.close(file)
    assert (tmp_path / "data").read_bytes() == content.read(0, size)
    assert closed.digests["sha256"] == hashlib.sha256(content.read(0, size)).hexdigest()


def test_a_hash_lane_reads_back_what_the_payload_lanes_wrote(
    worker: WorkerProcess, hostile: Hostile, tmp_path: Path
) -> None:
    item = hostile.put(KEY, CONTENT, checksum="crc64nvme")
    file = worker.open(tmp_path / "data", size=SIZE, digests=("sha256",))
    command = worker.fetch(file, request_for(hostile, KEY), length=SIZE, checksum="crc64nvme")
    fetched = worker.call(command)
    first = worker.hash(file, length=2 * MIB, digest=True, checksum="crc64nvme")
    second = worker.hash(file, offset=2 * MIB, length=SIZE - 2 * MIB, digest=True, checksum="crc64nvme")
    assert isinstance(fetched, Done)
    assert item.checksum is not None
    assert first.checksum is not None
    assert second.checksum is not None
    whole = combine("crc64nvme", first.checksum, second.checksum, SIZE - 2 * MIB)
    assert whole == fetched.checksum
    assert item.checksum[1] == to_base64("crc64nvme", whole)
    assert worker.hash(file, length=SIZE).xxh3 == fetched.xxh3
    assert worker.close(file).digests["sha256"] == hashlib.sha256(CONTENT.read(0, SIZE)).hexdigest()


def test_reading_back_more_than_there_is_is_a_disk_fault(worker: WorkerProcess, tmp_path: Path) -> None:
    file = worker.open(tmp_path / "data", size=5000)
    answer = worker.hash(file, length=5001)
    assert isinstance(answer, Failed)
    assert (answer.fault, answer.errno, answer.written) == (Fault.DISK, errno.EIO, 0)


def test_opening_again_starts_the_running_digests_again(worker: WorkerProcess, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"a" * 5000)
    file = worker.open_existing(tmp_path / "data", digests=("sha256",))
    worker.hash(file, length=4096, digest=True)
    worker.open_existing(tmp_path / "data", digests=("sha256",), number=file)
    worker.hash(file, length=5000, digest=True)
    closed = worker.close(file)
    assert (closed.covered, closed.digests["sha256"]) == (5000, hashlib.sha256(b"a" * 5000).hexdigest())


def test_a_local_file_is_copied_and_held_to_its_pin(worker: WorkerProcess, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(CONTENT.read(0, SIZE))
    request = Request(scheme="file", target=str(source))
    file = worker.open(tmp_path / "data", size=SIZE)
    pin = file_validator(source.stat())
    good = worker.call(worker.fetch(file, request, length=SIZE, etag=pin))
    os.utime(source, ns=(1, 1))
    changed = worker.call(worker.fetch(file, request, length=SIZE, etag=pin))
    assert isinstance(good, Done)
    assert (tmp_path / "data").read_bytes() == CONTENT.read(0, SIZE)
    assert isinstance(changed, Failed)
    assert (changed.fault, changed.written) == (Fault.SOURCE_FILE, 0)


def answer_of(body: bytes, *, extra: bytes = b"", connection: str = "keep-alive") -> bytes:
    size = len(body)
    head = (
        f"HTTP/1.1 206 Partial Content\r\nContent-Length: {size}\r\nContent-Range: bytes 0-{size - 1}/{size}\r\n"
        f"Connection: {connection}\r\n\r\n"
    )
    return head.encode() + body + extra


@pytest.mark.parametrize(
    ("connections", "expected"),
    [
        ([[answer_of(b"abc"), answer_of(b"abc")]], [2]),
        ([[answer_of(b"abc")], [answer_of(b"abc")]], [1, 1]),
        ([[answer_of(b"abc", connection="close")], [answer_of(b"abc")]], [1, 1]),
        ([[answer_of(b"abc", extra=b"d"), b""], [answer_of(b"abc")]], [1, 1]),
        ([[answer_of(b"abc"), b""], [answer_of(b"abc")]], [2, 1]),
    ],
    ids=["kept", "closed by the server", "closed as announced", "bytes too many", "closed at the second request"],
)
def test_a_connection_is_kept_as_long_as_it_is_clean_and_replaced_without_a_fault(
    worker: WorkerProcess, tmp_path: Path, connections: list[list[bytes]], expected: list[int]
) -> None:
    with RawServer(*connections) as server:
        request = Request(scheme="http", host="127.0.0.1", port=server.port, target="/a", headers=(("Host", "a"),))
        file = worker.open(tmp_path / "data", size=3)
        answers = [worker.call(worker.fetch(file, request, length=3)) for _ in range(2)]
    assert all(isinstance(answer, Done) for answer in answers)
    assert [len(requests) for requests in server.requests] == expected


def test_a_fresh_connection_that_is_closed_without_an_answer_is_a_fault(worker: WorkerProcess, tmp_path: Path) -> None:
    with RawServer([b""], [answer_of(b"abc")]) as server:
        request = Request(scheme="http", host="127.0.0.1", port=server.port, target="/a", headers=(("Host", "a"),))
        file = worker.open(tmp_path / "data", size=3)
        answer = worker.call(worker.fetch(file, request, length=3))
        assert isinstance(answer, Failed)
        assert answer.fault is Fault.CONNECT
        assert isinstance(worker.call(worker.fetch(file, request, length=3)), Done)


def test_a_connection_is_kept_over_tls_too(
    worker: WorkerProcess, hostile_tls: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile_tls.put(KEY, CONTENT)
    served: list[socket.socket] = []
    serve = hostile_tls._serve

    def counted(connection: socket.socket) -> None:
        served.append(connection)
        serve(connection)

    monkeypatch.setattr(hostile_tls, "_serve", counted)
    file = worker.open(tmp_path / "data", size=SIZE)
    for offset in (0, MIB, 2 * MIB):
        command = worker.fetch(file, request_for(hostile_tls, KEY), offset=offset, length=MIB, total=SIZE)
        assert isinstance(worker.call(command), Done)
    assert len(served) == 1
