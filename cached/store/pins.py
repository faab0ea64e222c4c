"""Pins: `pins/<name>.json`. While a name is pinned the tree that it points to is not evicted; `rm` still removes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cached import codec, fsops
from cached.clock import Clock
from cached.layout import Layout
from cached.store.records import Pin, read_named
from cached.store.transitions import Transitions
from cached.types import ModelName


class Pins:
    """Not thread-safe: the store calls it under its lock. In memory after the start."""

    def __init__(self, layout: Layout, pins: Iterable[Pin], *, clock: Clock, transitions: Transitions) -> None:
        self._layout = layout
        self._pins = {pin.name: pin for pin in pins}
        self._clock = clock
        self._transitions = transitions

    def put(self, name: ModelName) -> Pin:
        """Pin it, durably; again is the pin that is there. Raises OSError."""
        if name not in self._pins:
            pin = Pin(name=name, at=self._clock.wall())
            fsops.write_file(self._layout.pin(name), codec.encode(pin))
            self._pins[name] = pin
            self._transitions.record("name_pinned", name=name)
        return self._pins[name]

    def drop(self, name: ModelName) -> bool:
        """Unpin it, durably; False if it was not pinned. Raises OSError."""
        if name not in self._pins:
            return False
        fsops.unlink(self._layout.pin(name))
        fsops.fsync_dir(self._layout.pins)
        del self._pins[name]
        self._transitions.record("name_unpinned", name=name)
        return True

    def __contains__(self, name: object) -> bool:
        return name in self._pins

    def all(self) -> tuple[Pin, ...]:
        """Every pin, by name."""
        return tuple(pin for _, pin in sorted(self._pins.items()))


def load_pins(layout: Layout) -> tuple[tuple[Pin, ...], tuple[Path, ...]]:
    """Every pin on disk, and the files named like one that could not be read. Raises OSError.

    An unreadable one pins all the same, and is written anew: its name says all that matters.
    """
    pins, damaged = read_named(layout.pins, Pin, lambda pin: layout.pin(pin.name))
    mended = tuple(pin for path in damaged if (pin := _by_name(path)))
    for pin in mended:
        fsops.write_file(layout.pin(pin.name), codec.encode(pin))
    return (*pins, *mended), damaged


def _by_name(path: Path) -> Pin | None:
    try:
        return Pin(name=ModelName(path.stem), at=path.stat().st_mtime)
    except ValueError:
        return None  # no name was ever called so
