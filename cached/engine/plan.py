"""What a model's download has to do: pure, from a listing and what is known here to a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cached.errors import NotFound
from cached.sources.base import Entry, Listing
from cached.types import Digest, Level


@dataclass(frozen=True, slots=True)
class Known:
    """A blob on this node that a file may be linked from, because it was obtained through the same source rule, and
    the level that this proves."""

    digest: Digest
    level: Level


@dataclass(frozen=True, slots=True)
class Plan:
    """`fetch` is ordered largest first. `twins` have the same upstream identity as a file in `fetch` (by its
    path): they are linked once that file is here."""

    reuse: tuple[tuple[Entry, Known], ...]
    fetch: tuple[Entry, ...]
    twins: Mapping[str, tuple[Entry, ...]]


def make_plan(listing: Listing, known: Mapping[str, Known]) -> Plan:
    """Link what is `known` (by path), fetch the rest, each upstream identity once."""
    reuse = tuple((entry, known[entry.path]) for entry in listing.entries if entry.path in known)
    missing = [entry for entry in listing.entries if entry.path not in known]
    first: dict[tuple[str, str, int], Entry] = {}
    twins: dict[str, list[Entry]] = {}
    fetch: list[Entry] = []
    for entry in sorted(missing, key=lambda each: (-each.size, each.path)):
        identity = _identity(entry)
        leader = first.setdefault(identity, entry) if identity else entry
        if leader is entry:
            fetch.append(entry)
        else:
            twins.setdefault(leader.path, []).append(entry)
    return Plan(reuse, tuple(fetch), {path: tuple(group) for path, group in twins.items()})


def _identity(entry: Entry) -> tuple[str, str, int] | None:
    if entry.sha256 is not None:
        return ("sha256", entry.sha256, entry.size)
    return (*entry.alias, entry.size) if entry.alias else None


def check_expected(listing: Listing, expected: Mapping[str, Digest]) -> None:
    """Raises NotFound when a digest is expected of a path that is not in the listing."""
    paths = {entry.path for entry in listing.entries}
    unknown = sorted(set(expected) - paths)
    if unknown:
        raise NotFound(
            f"a sha256 was given for {unknown[0]!r}, which is not among the {len(paths)} files of {listing.uri.shown}",
            hint="give the path relative to the URI, as `cachectl show` prints it",
        )
