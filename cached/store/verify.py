"""Reading what is stored and comparing it with its sha256: for `verify`, the scrub and fsck. Changes nothing."""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path

from cached.types import Digest


class Verdict(enum.StrEnum):
    """What became of a blob that was read."""

    SOUND = "sound"
    DAMAGED = "damaged"
    GONE = "gone"
    """Evicted or removed meanwhile."""


def read_blob(path: Path, digest: Digest, size: int, *, pace: Callable[[int], None]) -> Verdict:
    """Read a blob from the medium, past the page cache, without disturbing what readers have in it; `pace(bytes)` is
    called before each read and may sleep, or raise to stop. Raises OSError (EIO is the caller's to judge)."""
    raise NotImplementedError
