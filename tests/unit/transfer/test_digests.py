from __future__ import annotations

import hashlib
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cached.transfer.digests import PartSums, RunningDigests, combine, to_base64
from cached.transfer.protocol import Checksum

CHECK = memoryview(b"123456789")
KNOWN: dict[Checksum, int] = {"crc32": 0xCBF43926, "crc32c": 0xE3069283, "crc64nvme": 0xAE8B14860A799888}
"""The check values of the CRC catalogue."""


def crc(algorithm: Checksum, data: bytes) -> int:
    sums = PartSums(algorithm)
    sums.update(memoryview(data))
    assert sums.checksum is not None
    return sums.checksum


@pytest.mark.parametrize("algorithm", KNOWN)
def test_crcs_have_the_catalogued_check_value(algorithm: Checksum) -> None:
    assert crc(algorithm, bytes(CHECK)) == KNOWN[algorithm]


@pytest.mark.parametrize(
    ("algorithm", "text"), [("crc32", "y/Q5Jg=="), ("crc32c", "4waSgw=="), ("crc64nvme", "rosUhgp5mIg=")]
)
def test_base64_is_of_the_big_endian_bytes_as_s3_prints_them(algorithm: Checksum, text: str) -> None:
    assert to_base64(algorithm, KNOWN[algorithm]) == text


@pytest.mark.parametrize("algorithm", KNOWN)
@given(data=st.binary(max_size=200), cut=st.integers(0, 200))
def test_the_crc_of_a_whole_comes_from_the_crcs_of_its_parts(algorithm: Checksum, data: bytes, cut: int) -> None:
    first, second = data[:cut], data[cut:]
    whole = combine(algorithm, crc(algorithm, first), crc(algorithm, second), len(second))
    assert whole == crc(algorithm, data)


def test_a_part_without_a_crc_has_only_its_xxh3() -> None:
    sums = PartSums(None)
    sums.update(CHECK)
    assert sums.checksum is None
    assert sums.xxh3 == "33119477ede5dcd5e9716427681d5860"  # what xxhsum -H2 prints


def test_sums_go_on_from_block_to_block() -> None:
    data = random.Random(5).randbytes(5000)
    sums = PartSums("crc32")
    for start in range(0, 5000, 999):
        sums.update(memoryview(data)[start : start + 999])
    assert sums.checksum == zlib.crc32(data)


def test_running_digests_are_those_of_the_bytes_so_far() -> None:
    running = RunningDigests(("sha256", "md5"))
    running.update(CHECK[:4], offset=0)
    running.update(CHECK[4:], offset=4)
    assert running.covered == 9
    assert running.hex() == {name: hashlib.new(name, CHECK).hexdigest() for name in ("sha256", "md5")}


@pytest.mark.parametrize("offset", [0, 3, 5])
def test_running_digests_refuse_bytes_out_of_order(offset: int) -> None:
    running = RunningDigests(("sha256",))
    running.update(CHECK[:4], offset=0)
    with pytest.raises(ValueError, match="stand at 4"):
        running.update(CHECK[4:], offset=offset)
