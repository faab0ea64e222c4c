"""The files that are fetched: what each set holds (pure), and writing it where the server reads it.

A `content` number stands for bytes: equal numbers are equal bytes with equal modification times, hence, from
nginx, equal ETags. Different numbers differ in every MiB, so that no contestant can fetch one file and link
the rest.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path

BUCKET = "models"
MIB = 1 << 20
GIB = 1 << 30
EPOCH = 1_700_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One object; `size` in bytes."""

    name: str
    size: int
    content: int

    @property
    def mtime(self) -> int:
        """Seconds since 1970; differs where the content does."""
        return EPOCH + self.content

    @property
    def etag(self) -> str:
        """As nginx derives it (`"<mtime>-<size>"` in hexadecimal), so that a pin taken from the listing holds."""
        return f'"{self.mtime:x}-{self.size:x}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """The objects below one prefix of the bucket."""

    name: str
    files: tuple[File, ...]

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(file.size for file in self.files)

    @property
    def uri(self) -> str:
        return f"s3://{BUCKET}/{self.name}/"


def shards(name: str, *, count: int, size: int, first: int = 0) -> DataSet:
    """`count` files of `size` bytes, with contents `first`, `first` + 1, ..."""
    return DataSet(
        name=name,
        files=tuple(File(name=f"part-{i:05d}.bin", size=size, content=first + i) for i in range(count)),
    )


def next_version(old: DataSet, *, name: str, changed: int) -> DataSet:
    """The same files as `old`, of which the first `changed` have new content."""
    fresh = 1 + max(file.content for file in old.files)
    files = tuple(
        File(name=file.name, size=file.size, content=fresh + i if i < changed else file.content)
        for i, file in enumerate(old.files)
    )
    return DataSet(name=name, files=files)


def build(dataset: DataSet, www: Path) -> Path:
    """Write the set below `www` and return its folder."""
    folder = www / BUCKET / dataset.name
    folder.mkdir(parents=True)
    # A block from a seeded generator, stamped per MiB: as incompressible as random data, at memory speed.
    block = bytearray(random.Random(0).randbytes(MIB))
    for file in dataset.files:
        _write(folder / file.name, file, block)
    return folder


def _write(path: Path, file: File, block: bytearray) -> None:
    with path.open("wb", buffering=0) as out:
        for offset in range(0, file.size, MIB):
            block[:16] = file.content.to_bytes(8) + offset.to_bytes(8)
            out.write(memoryview(block)[: min(MIB, file.size - offset)])
    os.utime(path, (file.mtime, file.mtime))


def same_bytes(left: Path, right: Path) -> bool:
    """Whether two files hold the same bytes; reads both whole."""
    with left.open("rb", buffering=0) as a, right.open("rb", buffering=0) as b:
        while True:
            chunk = a.read(MIB)
            if chunk != b.read(MIB):
                return False
            if not chunk:
                return True
