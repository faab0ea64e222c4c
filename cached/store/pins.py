"""Pins: `pins/<name>.json`. While a name is pinned the tree that it points to is not evicted; `rm` still removes it."""

from __future__ import annotations

from collections.abc import Mapping

from cached.clock import Clock
from cached.layout import Layout
from cached.store.records import Pin
from cached.types import ModelName


class Pins:
    """Not thread-safe: the store calls it under its lock. In memory after the start."""

    def __init__(self, layout: Layout, pins: Mapping[ModelName, Pin], *, clock: Clock) -> None:
        raise NotImplementedError

    def put(self, name: ModelName) -> Pin:
        """Pin it, durably; again is the pin that is there. Raises OSError."""
        raise NotImplementedError

    def drop(self, name: ModelName) -> bool:
        """Unpin it, durably; False if it was not pinned. Raises OSError."""
        raise NotImplementedError

    def __contains__(self, name: object) -> bool:
        raise NotImplementedError

    def all(self) -> tuple[Pin, ...]:
        """Every pin, by name."""
        raise NotImplementedError


def read_pins(layout: Layout) -> tuple[dict[ModelName, Pin], tuple[str, ...]]:
    """Every pin on disk. A damaged file pins the name that it is called by, and is a warning. Raises OSError."""
    raise NotImplementedError
