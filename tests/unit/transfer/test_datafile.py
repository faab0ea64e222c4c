from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cached.transfer import datafile
from cached.transfer.datafile import ALIGN, DataFile, align_down, align_up
from cached.transfer.outcome import JobFault
from cached.transfer.protocol import Fault
from cached.transfer.sink import page_aligned_buffer

Opener = Callable[[int], DataFile]


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def refuse_direct_open(path: str, flags: int) -> int:
    if flags & os.O_DIRECT:
        raise OSError(errno.EINVAL, "no direct I/O here")
    return os.open(path, flags)


class RefusingOs:
    """`os` of a file system that opens for direct I/O and refuses it when it happens."""

    def __init__(self) -> None:
        self.direct: set[int] = set()

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def open(self, path: str, flags: int) -> int:
        descriptor = os.open(path, flags & ~os.O_DIRECT)
        if flags & os.O_DIRECT:
            self.direct.add(descriptor)
        return descriptor

    def pwrite(self, descriptor: int, data: memoryview, offset: int) -> int:
        self._check(descriptor)
        return os.pwrite(descriptor, data, offset)

    def preadv(self, descriptor: int, into: list[memoryview], offset: int) -> int:
        self._check(descriptor)
        return os.preadv(descriptor, into, offset)

    def _check(self, descriptor: int) -> None:
        if descriptor in self.direct:
            raise OSError(errno.EINVAL, "no direct I/O here")


class RefusingOpenOs(RefusingOs):
    """`os` of a file system that does not even open for direct I/O."""

    def open(self, path: str, flags: int) -> int:
        return refuse_direct_open(path, flags)


class ShortOs(RefusingOs):
    """`os` whose writes and reads move at most 1000 bytes."""

    def open(self, path: str, flags: int) -> int:
        return os.open(path, flags & ~os.O_DIRECT)

    def pwrite(self, descriptor: int, data: memoryview, offset: int) -> int:
        return os.pwrite(descriptor, data[:1000], offset)

    def preadv(self, descriptor: int, into: list[memoryview], offset: int) -> int:
        return os.preadv(descriptor, [into[0][:1000]], offset)


@pytest.fixture(params=["as it is", "no direct open", "no direct transfer", "short transfers"])
def open_file(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opener]:
    """Opens a preallocated file of so many bytes, on a file system of each kind."""
    kinds = {"no direct open": RefusingOpenOs, "no direct transfer": RefusingOs, "short transfers": ShortOs}
    if request.param in kinds:
        monkeypatch.setattr(datafile, "os", kinds[request.param]())
    opened: list[DataFile] = []

    def create(size: int) -> DataFile:
        (tmp_path / "data").write_bytes(bytes(size))
        opened.append(DataFile(str(tmp_path / "data")))
        return opened[-1]

    yield create
    for file in opened:
        file.close()


SIZES = [1, 4095, 4096, 4097, 8192, 100_000, 1 << 20]


@pytest.mark.parametrize("size", SIZES)
def test_what_is_written_is_in_the_file(open_file: Opener, tmp_path: Path, size: int) -> None:
    data = random.Random(size).randbytes(size)
    buffer = page_aligned_buffer()
    buffer[:size] = data
    open_file(ALIGN + size).write(buffer[:size], offset=ALIGN)
    assert (tmp_path / "data").read_bytes() == bytes(ALIGN) + data


@pytest.mark.parametrize("size", SIZES)
def test_what_is_in_the_file_is_read_as_far_as_it_goes(open_file: Opener, tmp_path: Path, size: int) -> None:
    file = open_file(0)
    data = random.Random(size).randbytes(size)
    (tmp_path / "data").write_bytes(data)
    buffer = page_aligned_buffer()
    count = file.read(buffer, offset=0)
    assert (count, bytes(buffer[:size])) == (size, data)


def test_a_buffered_tail_is_seen_by_a_direct_read(open_file: Opener) -> None:
    file = open_file(5000)
    buffer = page_aligned_buffer()
    buffer[:5000] = b"t" * 5000
    file.write(buffer[:5000], offset=0)
    again = page_aligned_buffer()
    assert file.read(again, offset=0) == 5000
    assert again[:5000] == buffer[:5000]


def test_a_missing_file_is_a_disk_fault_with_its_errno(tmp_path: Path) -> None:
    with pytest.raises(JobFault) as caught:
        DataFile(str(tmp_path / "none"))
    assert (caught.value.fault, caught.value.errno) == (Fault.DISK, errno.ENOENT)


def test_a_symlink_in_the_files_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(JobFault) as caught:
        DataFile(str(tmp_path / "link"))
    assert caught.value.errno == errno.ELOOP


def test_a_write_error_other_than_einval_is_a_disk_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.EDQUOT, "over quota")

    (tmp_path / "data").write_bytes(bytes(ALIGN))
    file = DataFile(str(tmp_path / "data"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(JobFault) as caught:
            file.write(page_aligned_buffer()[:ALIGN], offset=0)
    file.close()
    assert (caught.value.fault, caught.value.errno) == (Fault.DISK, errno.EDQUOT)


def test_a_failed_open_leaves_no_descriptor(tmp_path: Path) -> None:
    before = open_descriptors()
    with pytest.raises(JobFault):
        DataFile(str(tmp_path))
    assert open_descriptors() == before


def test_counts_are_aligned_to_both_sides() -> None:
    assert [align_down(count) for count in (0, 4095, 4096, 8191)] == [0, 0, 4096, 4096]
    assert [align_up(count) for count in (0, 1, 4096, 4097)] == [0, 4096, 4096, 8192]
