from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import xxhash

from cached.transfer.openfile import OpenFile
from cached.transfer.outcome import JobFault
from cached.transfer.protocol import Fault
from cached.transfer.sink import Receive, Sink, page_aligned_buffer, pump

BLOCK = 8192


@pytest.fixture
def file(tmp_path: Path) -> Iterator[OpenFile]:
    """An open file of 64 KiB."""
    (tmp_path / "data").write_bytes(bytes(65536))
    opened = OpenFile(str(tmp_path / "data"), 1 << 20, ("sha256",))
    yield opened
    opened.close()


def sink_into(file: OpenFile) -> Sink:
    return Sink(file, offset=0, checksum="crc32", digest=True)


def giving(data: bytes, *, step: int) -> Receive:
    """Hands out `data` in steps, then fails as a cut connection does."""
    position = 0

    def receive(into: memoryview) -> int:
        nonlocal position
        piece = data[position : position + min(step, len(into))]
        if not piece:
            raise JobFault(Fault.SHORT, "cut")
        into[: len(piece)] = piece
        position += len(piece)
        return len(piece)

    return receive


@pytest.mark.parametrize("step", [1, 4096, 5000, BLOCK, 100_000])
def test_all_bytes_arrive_whatever_the_steps(file: OpenFile, tmp_path: Path, step: int) -> None:
    data = bytes(range(256)) * 80
    sink = sink_into(file)
    pump(giving(data, step=step), sink, length=len(data), buffer=page_aligned_buffer(BLOCK))
    assert sink.written == len(data)
    assert (tmp_path / "data").read_bytes()[: len(data)] == data
    assert sink.sums.xxh3 == xxhash.xxh3_128_hexdigest(data)
    assert file.digests.hex() == {"sha256": hashlib.sha256(data).hexdigest()}


@pytest.mark.parametrize("came", [0, 1, 4095, 4096, 4097, BLOCK, BLOCK + 1, BLOCK + 4096, 20_000])
def test_a_cut_keeps_what_came_down_to_4096(file: OpenFile, came: int) -> None:
    data = bytes(range(256)) * 80
    sink = sink_into(file)
    with pytest.raises(JobFault):
        pump(giving(data[:came], step=999), sink, length=len(data), buffer=page_aligned_buffer(BLOCK))
    kept = came // 4096 * 4096
    assert sink.written == kept == file.digests.covered
    assert sink.sums.xxh3 == xxhash.xxh3_128_hexdigest(data[:kept])
    assert file.digests.hex() == {"sha256": hashlib.sha256(data[:kept]).hexdigest()}


def test_a_disk_that_fills_leaves_the_sums_at_the_last_good_block(
    file: OpenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes(range(256)) * 80
    sink = sink_into(file)
    write = file.data().write

    def full(block: memoryview, *, offset: int) -> None:
        if offset:
            raise JobFault(Fault.DISK, "full", errno=errno.ENOSPC)
        write(block, offset=offset)

    monkeypatch.setattr(file.data(), "write", full)
    with pytest.raises(JobFault):
        pump(giving(data, step=999), sink, length=len(data), buffer=page_aligned_buffer(BLOCK))
    assert sink.written == BLOCK == file.digests.covered
    assert sink.sums.xxh3 == xxhash.xxh3_128_hexdigest(data[:BLOCK])
