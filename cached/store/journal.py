"""The part journal of an ingest: which ranges are known to be on disk.

Records have one size and their own check sum, so a torn or lost tail is seen and cut off; what stands before
it is good. The journal is never ahead of the data: its caller makes the data durable first (step 2). Codec
here is pure; the functions that touch the disk take an open file.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Sequence

from cached import fsops
from cached.fsops import File
from cached.store.records import PartRecord

# offset, length, xxh3-128, checksum, "has a checksum", three zero bytes; then crc32 of those 44 bytes.
_BODY = struct.Struct("<QQ16sQB3x")
_SUM = struct.Struct("<I")
RECORD = _BODY.size + _SUM.size


def encode(records: Iterable[PartRecord]) -> bytes:
    """The records as they are on disk, `RECORD` (48) bytes each."""
    return b"".join(_encode(record) for record in records)


def _encode(record: PartRecord) -> bytes:
    checked = record.checksum is not None
    body = _BODY.pack(record.offset, record.length, bytes.fromhex(record.xxh3), record.checksum or 0, checked)
    return body + _SUM.pack(zlib.crc32(body))


def decode(data: bytes, *, size: int) -> tuple[PartRecord, ...]:
    """The sound records at the beginning of `data`, for an ingest of `size` bytes.

    Ends before the first that is torn, fails its check sum or lies outside the ingest.
    """
    records = []
    for at in range(0, len(data) - RECORD + 1, RECORD):
        record = _decode(data[at : at + RECORD])
        if record is None or record.length == 0 or record.offset + record.length > size:
            break
        records.append(record)
    return tuple(records)


def _decode(block: bytes) -> PartRecord | None:
    body, (check,) = block[: _BODY.size], _SUM.unpack(block[_BODY.size :])
    if zlib.crc32(body) != check:
        return None
    offset, length, xxh3, checksum, checked = _BODY.unpack(body)
    return PartRecord(offset, length, xxh3.hex(), checksum if checked else None)


def load(file: File, *, size: int) -> tuple[PartRecord, ...]:
    """The sound records of a journal; a damaged tail is cut off the file. Raises OSError."""
    data = os.pread(file.fd, file.stat().st_size, 0)
    records = decode(data, size=size)
    if len(data) != len(records) * RECORD:
        fsops.truncate(file, len(records) * RECORD)
        fsops.fdatasync(file)
    return records


def append(file: File, records: Sequence[PartRecord]) -> None:
    """Add records behind those that are there, durably. Raises OSError."""
    fsops.pwrite_all(file, encode(records), file.stat().st_size)
    fsops.fdatasync(file)
