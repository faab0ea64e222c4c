"""A real worker against a server that breaks its answers: what it takes, what it refuses, what it says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
import xxhash
from msgspec.structs import replace

from cached.transfer.protocol import Done, Failed, Fault, Moved
from tests.helpers.hostile import Hostile, Synthetic, faults
from tests.helpers.worker import WorkerProcess, request_for

SIZE = 3 * 1024 * 1024 + 1234
CONTENT = Synthetic(SIZE, "payload")
KEY = "models/a.bin"
ETAG = '"pinned"'
MIB = 1 << 20


def put(server: Hostile) -> None:
    server.put(KEY, CONTENT, etag=ETAG)


def fetch(
    worker: WorkerProcess,
    server: Hostile,
    folder: Path,
    *,
    offset: int = 0,
    length: int = SIZE,
    ranged: bool = True,
) -> Done | Failed:
    file = worker.open(folder / "data", size=SIZE)
    command = worker.fetch(
        file,
        request_for(server, KEY),
        offset=offset,
        length=length,
        total=SIZE,
        ranged=ranged,
        etag=ETAG,
    )
    answer = worker.call(command)
    assert isinstance(answer, Done | Failed)
    return answer


def sum_of(data: bytes) -> str:
    return str(xxhash.xxh3_128_hexdigest(data))


def test_a_good_answer_ends_in_the_right_bytes_and_their_sum(
    worker: WorkerProcess, hostile: Hostile, tmp_path: Path
) -> None:
    put(hostile)
    answer = fetch(worker, hostile, tmp_path)
    assert isinstance(answer, Done)
    assert (tmp_path / "data").read_bytes() == CONTENT.read(0, SIZE)
    assert answer.xxh3 == sum_of(CONTENT.read(0, SIZE))
    assert answer.headers["etag"] == ETAG


def test_the_same_holds_over_tls(worker: WorkerProcess, hostile_tls: Hostile, tmp_path: Path) -> None:
    put(hostile_tls)
    answer = fetch(worker, hostile_tls, tmp_path)
    assert isinstance(answer, Done)
    assert (tmp_path / "data").read_bytes() == CONTENT.read(0, SIZE)


def test_an_untrusted_certificate_is_a_tls_fault(worker: WorkerProcess, hostile_tls: Hostile, tmp_path: Path) -> None:
    put(hostile_tls)
    file = worker.open(tmp_path / "data", size=SIZE)
    request = replace(request_for(hostile_tls, KEY), ca_file=None)
    answer = worker.call(worker.fetch(file, request, length=SIZE))
    assert isinstance(answer, Failed)
    assert answer.fault is Fault.TLS
    assert hostile_tls.payload == 0


def test_a_certificate_for_another_name_is_a_tls_fault(
    worker: WorkerProcess, hostile_tls: Hostile, tmp_path: Path
) -> None:
    put(hostile_tls)
    file = worker.open(tmp_path / "data", size=SIZE)
    request = request_for(hostile_tls, KEY, host="127.1")  # the same address under a name that is not certified
    answer = worker.call(worker.fetch(file, request, length=SIZE))
    assert isinstance(answer, Failed)
    assert answer.fault is Fault.TLS
    assert hostile_tls.payload == 0


@pytest.mark.parametrize("after", [0, 1, 4095, 4096, 4097, MIB, MIB + 5000, 2 * MIB, SIZE - 1])
@pytest.mark.parametrize("ending", [faults.Cut, faults.Reset, faults.HalfClose])
def test_a_truncated_answer_is_never_taken_as_complete(
    worker: WorkerProcess,
    hostile: Hostile,
    tmp_path: Path,
    after: int,
    ending: Callable[[int], faults.Fault],
) -> None:
    put(hostile)
    hostile.misbehave(KEY, ending(after))
    answer = fetch(worker, hostile, tmp_path)
    assert isinstance(answer, Failed)
    assert answer.fault is Fault.SHORT
    assert answer.written % 4096 == 0
    assert answer.xxh3 == sum_of((tmp_path / "data").read_bytes()[: answer.written])
    assert (tmp_path / "data").read_bytes()[: answer.written] == CONTENT.read(0, answer.written)
    if ending is not faults.Reset:  # a reset may overtake what was sent before it
        assert answer.written == after // 4096 * 4096


@pytest.mark.parametrize(
    ("mischief", "expected"),
    [
        (faults.WrongStart(4096), Fault.PROTOCOL),
        (faults.WrongTotal(1), Fault.CHANGED),
        (faults.ShortLength(5), Fault.PROTOCOL),
        (faults.NoLength(), Fault.PROTOCOL),
        (faults.Chunked(), Fault.PROTOCOL),
        (faults.Gzip(), Fault.PROTOCOL),
        (faults.Multipart(), Fault.PROTOCOL),
        (faults.IgnoreRange(), Fault.WHOLE),
        (faults.Header("ETag", '"other"'), Fault.CHANGED),
        (faults.Header("ETag", f"W/{ETAG}"), Fault.CHANGED),
        (faults.precondition_failed(), Fault.CHANGED),
        (faults.not_satisfiable(), Fault.STATUS),
        (faults.slow_down(), Fault.STATUS),
        (faults.Redirect("http://127.0.0.1:9/elsewhere"), Fault.REDIRECT),
        (faults.other_region("eu-central-1"), Fault.REDIRECT),
        (faults.Hangup(), Fault.CONNECT),
        (faults.Mute(), Fault.FIRST_BYTE),
        (faults.Stall(0), Fault.STALLED),
        (faults.Trickle(1), Fault.STALLED),
    ],
    ids=repr,
)
def test_a_wrong_answer_leaves_the_file_untouched(
    worker: WorkerProcess, hostile: Hostile, tmp_path: Path, mischief: faults.Fault, expected: Fault
) -> None:
    put(hostile)
    hostile.misbehave(KEY, mischief)
    answer = fetch(worker, hostile, tmp_path, offset=MIB, length=MIB)
    assert isinstance(answer, Failed)
    assert (answer.fault, answer.written) == (expected, 0)
    assert (tmp_path / "data").read_bytes() == bytes(SIZE)


def test_a_200_with_the_right_content_range_is_taken(worker: WorkerProcess, hostile: Hostile, tmp_path: Path) -> None:
    put(hostile)
    hostile.misbehave(KEY, faults.RangedOk())
    assert isinstance(fetch(worker, hostile, tmp_path, offset=MIB, length=MIB), Done)
    assert (tmp_path / "data").read_bytes()[MIB : 2 * MIB] == CONTENT.read(MIB, MIB)


def test_a_whole_object_is_taken_in_one_stream_where_no_range_was_asked(
    worker: WorkerProcess, hostile: Hostile, tmp_path: Path
) -> None:
    put(hostile)
    hostile.misbehave(KEY, faults.IgnoreRange())
    assert isinstance(fetch(worker, hostile, tmp_path, ranged=False), Done)
    assert (tmp_path / "data").read_bytes() == CONTENT.read(0, SIZE)
    assert hostile.requests[-1].headers.get("range") is None


def test_an_object_that_is_stored_compressed_arrives_as_it_is_stored(
    worker: WorkerProcess, hostile: Hostile, tmp_path: Path
) -> None:
    hostile.put(KEY, CONTENT, etag=ETAG, content_encoding="gzip")
    assert isinstance(fetch(worker, hostile, tmp_path), Done)
    assert (tmp_path / "data").read_bytes() == CONTENT.read(0, SIZE)
    assert hostile.requests[-1].headers["accept-encoding"] == "identity"


def test_an_error_answer_is_handed_on_with_its_body_and_headers(
    worker: WorkerProcess, hostile: Hostile, tmp_path: Path
) -> None:
    put(hostile)
    hostile.misbehave(KEY, faults.expired_token())
    answer = fetch(worker, hostile, tmp_path)
    assert isinstance(answer, Failed)
    assert answer.status == 400
    assert "<Code>ExpiredToken</Code>" in answer.body


def test_retry_after_and_rate_limits_reach_the_control_process(
    worker: WorkerProcess, hostile: Hostile, tmp_path: Path
) -> None:
    put(hostile)
    hostile.misbehave(KEY, faults.slow_down(retry_after=7), times=1)
    hostile.misbehave(KEY, faults.too_many(seconds=55), times=1, skip=1)
    slow, limited = fetch(worker, hostile, tmp_path), fetch(worker, hostile, tmp_path)
    assert isinstance(slow, Failed)
    assert isinstance(limited, Failed)
    assert slow.headers["retry-after"] == "7"
    assert limited.headers["ratelimit"] == '"api";r=0;t=55'


def test_a_redirect_is_handed_on_and_never_followed(worker: WorkerProcess, hostile: Hostile, tmp_path: Path) -> None:
    put(hostile)
    hostile.misbehave(KEY, faults.Redirect(f"{hostile.url}/models/b.bin"))
    answer = fetch(worker, hostile, tmp_path)
    assert isinstance(answer, Failed)
    assert answer.headers["location"] == f"{hostile.url}/models/b.bin"
    assert [request.path for request in hostile.requests] == [KEY]


def test_a_slow_answer_above_the_floor_is_waited_for(worker: WorkerProcess, hostile: Hostile, tmp_path: Path) -> None:
    put(hostile)
    hostile.misbehave(KEY, faults.Trickle(512 << 10))
    answer = fetch(worker, hostile, tmp_path, length=MIB)
    assert isinstance(answer, Done)
    moved = [count for told in worker.answers if isinstance(told, Moved) for _, count in told.jobs]
    assert len(moved) > 1
    assert sum(moved) <= MIB


def test_a_stall_in_mid_part_keeps_what_came(worker: WorkerProcess, hostile: Hostile, tmp_path: Path) -> None:
    put(hostile)
    hostile.misbehave(KEY, faults.Stall(MIB + 5000))
    answer = fetch(worker, hostile, tmp_path)
    assert isinstance(answer, Failed)
    assert (answer.fault, answer.written) == (Fault.STALLED, MIB + 4096)
    assert answer.xxh3 == sum_of(CONTENT.read(0, MIB + 4096))


def test_running_digests_stand_where_a_failed_job_left_off(
    worker: WorkerProcess, hostile: Hostile, tmp_path: Path
) -> None:
    put(hostile)
    for skip, after in enumerate([5000, 0, MIB, 4096, MIB + 1]):
        hostile.misbehave(KEY, faults.Cut(after), times=1, skip=skip)
    file = worker.open(tmp_path / "data", size=SIZE, digests=("sha256", "md5"))
    at = rounds = 0
    while at < SIZE:
        job = worker.fetch(file, request_for(hostile, KEY), offset=at, length=SIZE - at, total=SIZE, digest=True)
        answer = worker.call(job)
        assert isinstance(answer, Done | Failed)
        at += answer.length if isinstance(answer, Done) else answer.written
        rounds += 1
    closed = worker.close(file)
    assert rounds == 6
    assert closed.covered == SIZE
    assert closed.digests == {name: hexdigest(name) for name in ("sha256", "md5")}


def hexdigest(algorithm: str) -> str:
    return hashlib.new(algorithm, CONTENT.read(0, SIZE)).hexdigest()


def test_nobody_listening_is_a_connect_fault(worker: WorkerProcess, hostile: Hostile, tmp_path: Path) -> None:
    put(hostile)
    file = worker.open(tmp_path / "data", size=SIZE)
    request = request_for(hostile, KEY)
    hostile.stop()
    answer = worker.call(worker.fetch(file, request, length=SIZE))
    assert isinstance(answer, Failed)
    assert answer.fault is Fault.CONNECT
