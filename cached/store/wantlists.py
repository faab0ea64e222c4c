"""Want-lists: all that each holder wants on this node, as it said last. `wants/<holder>.json`, level-triggered."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cached import codec, fsops
from cached.api.types import Want
from cached.layout import Layout
from cached.store.records import WantList, read_named
from cached.store.transitions import Transitions
from cached.types import HolderName, ModelName

MODE = 0o600
"""A URI may hold a signature; the daemon alone reads want-lists."""


class WantLists:
    """Not thread-safe: the store calls it under its lock. In memory after the start."""

    def __init__(
        self, layout: Layout, lists: Iterable[WantList], *, unread: Iterable[str], transitions: Transitions
    ) -> None:
        self.unread = {holder for holder in unread if _is_holder(holder)}
        """Holders whose list could not be read, until they say again what they want: it may be anything."""
        self._layout = layout
        self._lists = {each.holder: each for each in lists}
        self._transitions = transitions
        self._by_name: dict[ModelName, tuple[tuple[HolderName, Want], ...]] = {}
        self._sort()

    def put(self, wanted: WantList) -> None:
        """Replace the holder's list, durably. An empty one is kept: it says that nothing is wanted. Raises OSError."""
        old = self._lists.get(wanted.holder)
        if old is not None and old.wants == wanted.wants:
            return  # said again every few seconds: not worth a write
        fsops.write_file(self._layout.want_list(wanted.holder), codec.encode(wanted), mode=MODE)
        self._lists[wanted.holder] = wanted
        self.unread.discard(wanted.holder)
        self._sort()
        self._transitions.record("wants_replaced", holder=wanted.holder, wants=len(wanted.wants))

    def all(self) -> tuple[WantList, ...]:
        """Every list, by holder."""
        return tuple(each for _, each in sorted(self._lists.items()))

    def wanting(self, name: ModelName, *, now: float) -> tuple[tuple[HolderName, Want], ...]:
        """Who wants the name, entries that have expired left out."""
        return tuple(
            (holder, want) for holder, want in self._by_name.get(name, ()) if want.expires is None or want.expires > now
        )

    def _sort(self) -> None:
        self._by_name = {}
        for each in self.all():
            for want in each.wants:
                if want.name is not None:
                    self._by_name[want.name] = (*self._by_name.get(want.name, ()), (each.holder, want))


def _is_holder(text: str) -> bool:
    try:
        HolderName(text)
    except ValueError:
        return False
    return True


def read_want_lists(layout: Layout) -> tuple[tuple[WantList, ...], tuple[Path, ...]]:
    """Every list on disk, and the files named like one that cannot be read. Raises OSError.

    What an unreadable one wanted is not known until its holder says it again, so nothing is withdrawn until then.
    """
    return read_named(layout.wants, WantList, lambda each: layout.want_list(each.holder))
