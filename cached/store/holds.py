"""What may not be removed just now, because somebody is about to link to it. In memory: it ends with the process.

The lock is the one that removal decides under, so a hold taken before the decision is always seen.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Self

from cached.types import Digest, TreeId


class Holds:
    """The counts of all holds. `lock` is held by whoever removes, from its check to its unlink."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.condemned: set[TreeId] = set()
        """Trees on their way out, from the decision to the rename."""
        self._counts: Counter[Digest] = Counter()

    def __contains__(self, digest: Digest) -> bool:
        return digest in self._counts

    def take(self, digest: Digest) -> None:
        """One hold more."""
        with self.lock:
            self._counts[digest] += 1

    def give(self, digest: Digest) -> None:
        """One hold less."""
        with self.lock:
            self._counts[digest] -= 1
            if not self._counts[digest]:
                del self._counts[digest]


class Hold:
    """A set of digests that stay while the block runs. One task owns it."""

    def __init__(self, holds: Holds, present: Callable[[Digest], bool]) -> None:
        self._holds = holds
        self._present = present
        self._mine: set[Digest] = set()

    def add(self, digest: Digest) -> bool:
        """Hold it from now on, also if it only arrives later; whether it is here now. Raises OSError."""
        if digest not in self._mine:
            self._holds.take(digest)
            self._mine.add(digest)
        with self._holds.lock:  # not in the middle of a removal
            return self._present(digest)

    def release(self) -> None:
        """Let all go."""
        while self._mine:
            self._holds.give(self._mine.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.release()
