"""Admission: whether a download fits, decided before its first byte and kept true while others are admitted.

Free space is what the file system tells, less what was promised to downloads that have not taken it yet.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cached.errors import InsufficientSpace


@dataclass(frozen=True, slots=True)
class Disk:
    """Bytes of a file system; `free` is what a process without privileges may still write."""

    total: int
    free: int


def disk(path: Path) -> Disk:
    """What the file system of `path` tells. Raises OSError."""
    state = os.statvfs(path)
    return Disk(total=state.f_blocks * state.f_frsize, free=state.f_bavail * state.f_frsize)


class Space:
    """Thread-safe: two downloads that fit alone but not together are never both admitted."""

    def __init__(self, measure: Callable[[], Disk]) -> None:
        self._measure = measure
        self._lock = threading.Lock()
        self._reservations: set[Reservation] = set()

    @property
    def reserved(self) -> int:
        """Bytes promised and not yet taken."""
        return sum(reservation.left for reservation in set(self._reservations))

    def admit(self, total: int) -> Reservation:
        """Promise `total` bytes. Raises InsufficientSpace with details needed, free, reserved; OSError."""
        with self._lock:
            free, reserved = self._measure().free, self.reserved
            if total > free - reserved:
                raise InsufficientSpace(
                    f"{total} bytes are needed, but of {free} free bytes {reserved} are promised to other downloads",
                    hint="remove models with `cachectl rm`, or give the cache a larger disk",
                    details={"needed": total, "free": free, "reserved": reserved},
                )
            reservation = Reservation(total, self._release)
            self._reservations.add(reservation)
            return reservation

    def _release(self, reservation: Reservation) -> None:
        with self._lock:
            self._reservations.discard(reservation)


class Reservation:
    """A promise of bytes; as a context manager it ends with the block."""

    def __init__(self, total: int, release: Callable[[Reservation], None]) -> None:
        self.left = total
        self._release = release

    def use(self, count: int) -> None:
        """`count` bytes are allocated now and show in the file system's own figure: not counted twice."""
        self.left = max(0, self.left - count)

    def release(self) -> None:
        """End the promise; a second call does nothing."""
        self._release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.release()
