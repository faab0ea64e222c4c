"""Upstream identities, each once seen on bytes that were hashed here: how an unchanged file is known unfetched.

Not synced: an alias that a crash loses or tears is a miss, and a miss costs one download. It is a hint only
within its source rule, and only while the blob is there with that size.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cached import codec, fsops
from cached.layout import Layout
from cached.store.records import Alias, read_record
from cached.types import Digest


class Aliases:
    """Thread-safe: each file is replaced in one step."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def find(self, wanted: tuple[str, str, str, int]) -> Digest | None:
        """The digest remembered for (rule, kind, value, size); None if there is none or it is damaged."""
        rule, kind, value, size = wanted
        probe = Alias(rule=rule, kind=kind, value=value, size=size, digest=_ANY)
        found = read_record(self._layout.alias(probe.key), Alias)
        same = found is not None and (found.rule, found.kind, found.value, found.size) == wanted
        return found.digest if found and same else None

    def remember(self, alias: Alias) -> None:
        """Write it down. Raises OSError."""
        fsops.write_file(self._layout.alias(alias.key), codec.encode(alias), durable=False)

    def sweep(self, is_here: Callable[[Digest], bool]) -> None:
        """Remove the aliases of blobs that are gone, and damaged ones. Raises OSError."""
        for path in self._layout.aliases.iterdir():
            if not _OURS.fullmatch(path.name):
                continue
            alias = read_record(path, Alias)
            if alias is None or not is_here(alias.digest):
                fsops.unlink(path)


_OURS = re.compile(r"[0-9a-f]{64}\.json")
_ANY = Digest("0" * 64)
