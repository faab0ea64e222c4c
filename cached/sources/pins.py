"""What every source derives from its pins in the same way. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from cached import codec
from cached.sources.base import Entry

REVISION_LENGTH = 16
"""Hex characters. 64 bits: a clash among a million revisions of one model has odds of 1 in 30 million."""


def revision_of(entries: Iterable[Entry]) -> str:
    """What is shown to people: changes when any path, size or pin does, and only then."""
    pins = sorted((entry.path, entry.size, entry.pin.validator) for entry in entries)
    return hashlib.sha256(codec.canonical(pins)).hexdigest()[:REVISION_LENGTH]
