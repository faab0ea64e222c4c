"""Sums over payload: a part's xxh3 and CRC, a file's running digests, and the arithmetic of source checksums.

CRCs follow zlib's convention: a running value goes in, the next comes out. awscrt is imported only once a
crc32c or crc64nvme is asked for: most workers never pay for it. Nothing here reads or writes files.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import zlib
from collections.abc import Callable

import xxhash

from cached.transfer.protocol import Checksum

_WIDTH: dict[Checksum, int] = {"crc32": 4, "crc32c": 4, "crc64nvme": 8}

Crc = Callable[[memoryview, int], int]


@functools.cache
def _crc(algorithm: Checksum) -> Crc:
    if algorithm == "crc32":
        return zlib.crc32  # as fast as awscrt's, and already loaded
    from awscrt import checksums

    function: Crc = checksums.crc32c if algorithm == "crc32c" else checksums.crc64nvme
    return function


def combine(algorithm: Checksum, first: int, second: int, length_of_second: int) -> int:
    """The CRC of two byte strings laid end to end, from the CRC of each and the second's length in bytes."""
    from awscrt import checksums

    function: Callable[[int, int, int], int] = {
        "crc32": checksums.combine_crc32,
        "crc32c": checksums.combine_crc32c,
        "crc64nvme": checksums.combine_crc64nvme,
    }[algorithm]
    return function(first, second, length_of_second)


def to_base64(algorithm: Checksum, value: int) -> str:
    """`value` as S3 prints it: base64 of its big-endian bytes."""
    return base64.b64encode(value.to_bytes(_WIDTH[algorithm], "big")).decode()


class PartSums:
    """What vouches for one part: xxh3-128, and the source's own CRC if it publishes one."""

    def __init__(self, checksum: Checksum | None) -> None:
        self._xxh3 = xxhash.xxh3_128()
        self._crc = _crc(checksum) if checksum else None
        self._value = 0

    def update(self, data: memoryview) -> None:
        """Go on over `data`."""
        self._xxh3.update(data)
        if self._crc:
            self._value = self._crc(data, self._value)

    @property
    def xxh3(self) -> str:
        """32 hex."""
        return str(self._xxh3.hexdigest())

    @property
    def checksum(self) -> int | None:
        """The CRC, or None if none was asked for."""
        return self._value if self._crc else None


class RunningDigests:
    """Digests of a file from byte 0 up to `covered`, fed in order by one job at a time."""

    def __init__(self, algorithms: tuple[str, ...]) -> None:
        self._hashes = {name: hashlib.new(name, usedforsecurity=name != "md5") for name in algorithms}
        self.covered = 0

    def update(self, data: memoryview, *, offset: int) -> None:
        """Go on over `data`, which begins at `offset`. Raises ValueError unless that is where the last ended: the
        jobs came in a wrong order, and a digest over them would be a digest of nothing.
        """
        if offset != self.covered:
            raise ValueError(f"the running digests stand at {self.covered}, they cannot go on at {offset}")
        for each in self._hashes.values():
            each.update(data)
        self.covered += len(data)

    def hex(self) -> dict[str, str]:
        """Hex digests by algorithm, over the first `covered` bytes."""
        return {name: each.hexdigest() for name, each in self._hashes.items()}
