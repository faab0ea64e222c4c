"""Small values for the tests of this folder."""

from __future__ import annotations

from msgspec.structs import replace

from cached.sources.base import Entry, Pin


def entry(path: str = "a", /, **changes: object) -> Entry:
    """A file of one byte."""
    base = Entry(path=path, size=1, pin=Pin(validator="etag v1", etag='"v1"'), locator=f"m/{path}")
    return replace(base, **changes)
