"""Want-lists: all that each holder wants on this node, as it said last. `wants/<holder>.json`, level-triggered."""

from __future__ import annotations

from collections.abc import Mapping

from cached.api.types import Want
from cached.layout import Layout
from cached.store.records import WantList
from cached.types import HolderName, ModelName


class WantLists:
    """Not thread-safe: the store calls it under its lock. In memory after the start."""

    def __init__(self, layout: Layout, lists: Mapping[HolderName, WantList]) -> None:
        raise NotImplementedError

    def put(self, wanted: WantList) -> None:
        """Replace the holder's list, durably. An empty one is removed. Raises OSError."""
        raise NotImplementedError

    def all(self) -> tuple[WantList, ...]:
        """Every list, by holder."""
        raise NotImplementedError

    def wanting(self, name: ModelName, *, now: float) -> tuple[tuple[HolderName, Want], ...]:
        """Who wants the name, entries that have expired left out."""
        raise NotImplementedError


def read_want_lists(layout: Layout) -> tuple[dict[HolderName, WantList], tuple[str, ...]]:
    """Every list on disk, and a warning for each that is damaged: nothing is known of what that holder wants, so until
    it says so again nothing is withdrawn on its behalf. Raises OSError."""
    raise NotImplementedError
