from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from cached.sources.base import Request, file_validator
from cached.transfer.localfile import local_source
from cached.transfer.outcome import JobFault
from cached.transfer.protocol import Fault, Fetch
from cached.transfer.sink import Receive

DATA = bytes(range(256)) * 64


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def fetch(path: Path, *, offset: int = 0, etag: str | None = None) -> Fetch:
    return Fetch(
        job=1,
        lane=0,
        file=1,
        offset=offset,
        length=len(DATA) - offset,
        total=len(DATA),
        ranged=True,
        request=Request(scheme="file", target=str(path)),
        etag=etag or file_validator(os.lstat(path)),
        digest=False,
        checksum=None,
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file of 16 KiB."""
    path = tmp_path / "weights"
    path.write_bytes(DATA)
    return path


def test_a_range_is_read_in_order(source: Path) -> None:
    buffer = memoryview(bytearray(10_000))
    with local_source(fetch(source, offset=4096)) as receive:
        first = bytes(buffer[: receive(buffer)])
        second = bytes(buffer[: receive(buffer)])
    assert first + second == DATA[4096:]


def test_a_file_that_changed_since_it_was_pinned_is_refused(source: Path) -> None:
    command = fetch(source)
    source.write_bytes(DATA[::-1])
    with pytest.raises(JobFault) as caught, local_source(command):
        pass
    assert (caught.value.fault, caught.value.errno) == (Fault.SOURCE_FILE, 0)


def test_a_file_that_changes_under_the_reader_is_refused_before_its_bytes_count(source: Path) -> None:
    with pytest.raises(JobFault) as caught, local_source(fetch(source)) as receive:
        read_change_read(receive, source)
    assert caught.value.fault is Fault.SOURCE_FILE


def read_change_read(receive: Receive, source: Path) -> None:
    buffer = memoryview(bytearray(4096))
    receive(buffer)
    source.write_bytes(DATA[::-1])
    receive(buffer)


def test_a_missing_file_says_its_errno(source: Path) -> None:
    command = fetch(source)
    source.unlink()
    with pytest.raises(JobFault) as caught, local_source(command):
        pass
    assert (caught.value.fault, caught.value.errno) == (Fault.SOURCE_FILE, errno.ENOENT)


def test_a_symlink_is_not_followed(source: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(source)
    with pytest.raises(JobFault) as caught, local_source(fetch(tmp_path / "link")):
        pass
    assert caught.value.errno == errno.ELOOP


def test_a_fifo_in_the_files_place_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(JobFault, match="regular"), local_source(fetch(tmp_path / "fifo")):
        pass


def test_no_descriptor_is_left_behind(source: Path) -> None:
    before = open_descriptors()
    with local_source(fetch(source)) as receive:
        receive(memoryview(bytearray(10)))
    assert open_descriptors() == before
