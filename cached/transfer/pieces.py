"""Which bytes of one file are missing, asked for, or in place. Pure bookkeeping, no I/O.

Ranges are cut on part boundaries, so a part that failed in its middle is asked for again only from where
it stopped. Offsets and lengths are bytes.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """`length` bytes from `offset`."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        """The offset behind the last byte."""
        return self.offset + self.length


class Pieces:
    """The ranges of a file of `size` bytes, fetched in parts of `part` bytes."""

    def __init__(self, size: int, part: int) -> None:
        self.size = size
        self._part = part
        self._missing: list[Range] = [Range(0, size)] if size else []
        self._placed: dict[int, int] = {}
        self.prefix = 0
        """Everything before this offset is in place."""
        self.placed_bytes = 0

    def __repr__(self) -> str:
        return f"<Pieces {self.placed_bytes}/{self.size} prefix={self.prefix} missing={len(self._missing)}>"

    @property
    def missing_bytes(self) -> int:
        """Bytes neither in place nor asked for."""
        return sum(gap.length for gap in self._missing)

    @property
    def complete(self) -> bool:
        """Whether every byte is in place."""
        return self.placed_bytes == self.size

    def first_missing(self) -> int | None:
        """The offset of the first byte neither in place nor asked for."""
        return self._missing[0].offset if self._missing else None

    def take(self) -> Range | None:
        """The lowest missing range, up to the next part boundary; it now counts as asked for."""
        if not self._missing:
            return None
        gap = self._missing[0]
        boundary = (gap.offset // self._part + 1) * self._part
        taken = Range(gap.offset, min(gap.end, boundary) - gap.offset)
        if taken.end == gap.end:
            del self._missing[0]
        else:
            self._missing[0] = Range(taken.end, gap.end - taken.end)
        return taken

    def give_back(self, lost: Range) -> None:
        """`lost` was asked for, or was in place and is damaged: it is missing again."""
        if lost.length == 0:
            return
        if self._placed.get(lost.offset) == lost.length:
            del self._placed[lost.offset]
            self.placed_bytes -= lost.length
            self.prefix = min(self.prefix, lost.offset)
        bisect.insort(self._missing, lost)

    def place(self, found: Range) -> None:
        """`found`, asked for before, is in place."""
        self._placed[found.offset] = found.length
        self.placed_bytes += found.length
        while self.prefix in self._placed:
            self.prefix += self._placed[self.prefix]

    def adopt(self, ranges: Iterable[Range]) -> tuple[Range, ...]:
        """Take over ranges from an earlier run as if asked for; those that overlap or lie outside are left
        missing. Returns what was taken over, in order of offset.
        """
        kept: list[Range] = []
        end = 0
        for found in sorted(ranges):
            if found.length > 0 and found.offset >= end and found.end <= self.size:
                kept.append(found)
                end = found.end
        self._missing = list(_gaps(kept, self.size))
        return tuple(kept)


def _gaps(ranges: Iterable[Range], size: int) -> Iterable[Range]:
    start = 0
    for found in ranges:
        if found.offset > start:
            yield Range(start, found.offset - start)
        start = found.end
    if start < size:
        yield Range(start, size - start)
