"""Whether the bytes are what was promised: pure comparison of digests with promises, strongest first."""

from __future__ import annotations

from dataclasses import dataclass

from cached.errors import Corrupt
from cached.sources.base import Entry
from cached.types import Digest, Level


@dataclass(frozen=True, slots=True)
class Measured:
    """What was computed over the bytes in place. `checksum` is base64 as the source prints it."""

    sha256: Digest
    md5: str | None = None
    checksum: str | None = None


def judge(entry: Entry, measured: Measured, *, expected: Digest | None) -> Level:
    """The level that `measured` reaches against what the source promised and the user `expected`.

    Every promise there is must hold, not only the strongest. Raises Corrupt that names the file and the two
    values.
    """
    promised = [
        ("sha256 that was asked for", expected, measured.sha256, Level.DIGEST),
        ("sha256 of the source", entry.sha256, measured.sha256, Level.DIGEST),
        ("checksum of the source", entry.checksum and entry.checksum[1], measured.checksum, Level.CHECKSUM),
        ("MD5 of the source", entry.md5, measured.md5, Level.CHECKSUM),
    ]
    level = Level.SIZE
    for name, promise, found, reached in promised:
        if promise is None or found is None:
            continue
        if promise != found:
            raise Corrupt(
                f"{entry.path} is not what was promised: the {name} is {promise}, the bytes have {found}",
                hint="the object at the source is damaged, or the promise is wrong; nothing was published",
                details={"path": entry.path, "expected": promise, "found": found},
            )
        level = min(level, reached, key=lambda each: each.rank)
    return level
