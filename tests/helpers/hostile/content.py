"""Bytes that need no memory: content is read by offset, so an object of many GiB costs one block.

Owns what an object holds, never how it is served.
"""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

BLOCK = 1 << 20


class Content(Protocol):
    """A run of bytes of known size."""

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    def read(self, offset: int, length: int) -> bytes:
        """Exactly the bytes of [offset, offset + length); the caller stays inside."""
        ...


@dataclass(frozen=True, slots=True)
class Literal:
    """Bytes in memory."""

    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


@functools.lru_cache(maxsize=64)
def _pattern(seed: str) -> bytes:
    return random.Random(seed).randbytes(BLOCK)


@dataclass(frozen=True, slots=True)
class Synthetic:
    """`size` bytes that `seed` determines in every process.

    Each 1 MiB block is the seed's random pattern with the block's number in its first 8 bytes: bytes that
    land at a wrong offset show, and making them costs a copy.
    """

    size: int
    seed: str = ""

    def read(self, offset: int, length: int) -> bytes:
        end = offset + length
        pieces = []
        while offset < end:
            number, start = divmod(offset, BLOCK)
            stop = min(BLOCK, start + end - offset)
            pieces.append(self._block(number)[start:stop])
            offset += stop - start
        return b"".join(pieces)

    def _block(self, number: int) -> bytes:
        return number.to_bytes(8, "big") + _pattern(self.seed)[8:]


@dataclass(frozen=True, slots=True)
class Flipped:
    """`content` with the lowest bit of the byte at `at` the other way round."""

    content: Content
    at: int

    @property
    def size(self) -> int:
        return self.content.size

    def read(self, offset: int, length: int) -> bytes:
        data = self.content.read(offset, length)
        inside = self.at - offset
        if not 0 <= inside < len(data):
            return data
        return data[:inside] + bytes([data[inside] ^ 1]) + data[inside + 1 :]


def as_content(value: Content | bytes | int, *, seed: str) -> Content:
    """Content from bytes, from a number of synthetic bytes, or as it is."""
    if isinstance(value, bytes):
        return Literal(value)
    if isinstance(value, int):
        return Synthetic(value, seed)
    return value


def blocks(content: Content, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """The bytes of [start, stop) in pieces of at most 1 MiB."""
    end = content.size if stop is None else stop
    for offset in range(start, end, BLOCK):
        yield content.read(offset, min(BLOCK, end - offset))


def digest(content: Content, algorithm: str = "sha256") -> str:
    """The hash of the whole content, in hex."""
    running = hashlib.new(algorithm, usedforsecurity=False)
    for block in blocks(content):
        running.update(block)
    return running.hexdigest()
