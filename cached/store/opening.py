"""From a locked root to a store at work: the order of recovery, and the parts it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

from cached.clock import Clock
from cached.config import Budget
from cached.config import Leases as LeaseSettings
from cached.layout import Layout
from cached.store.aliases import Aliases
from cached.store.blobs import Blobs, scan_blobs
from cached.store.holds import Holds
from cached.store.index import Index, open_index
from cached.store.ingests import Ingests, clean_ingests
from cached.store.leases import Leases, read_leases
from cached.store.pins import Pins, load_pins
from cached.store.recover import (
    RecoveryReport,
    boot_id,
    check_models,
    drop_temporaries,
    restore_links,
    set_aside,
)
from cached.store.refs import Refs, announced_removals, read_refs
from cached.store.removal import Removal
from cached.store.space import Space, disk
from cached.store.transitions import Transitions
from cached.store.trees import Trees, clean_trees
from cached.store.wantlists import WantLists, read_want_lists
from cached.types import TreeId

DOUBT = 600.0
"""Seconds before the last seal. When the machine went down, what was sealed in them is not taken on trust."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a store is made of."""

    aliases: Aliases
    blobs: Blobs
    holds: Holds
    index: Index
    ingests: Ingests
    refs: Refs
    leases: Leases
    pins: Pins
    removal: Removal
    space: Space
    transitions: Transitions
    trees: Trees
    wants: WantLists
    unclaimed: set[TreeId]
    report: RecoveryReport
    warnings: tuple[str, ...]


def recover(layout: Layout, *, budget: Budget, leases: LeaseSettings, clock: Clock) -> Parts:
    """Bring a prepared, locked root in order and assemble the store. Raises OSError."""
    index = open_index(layout.index)
    try:
        return _recover(layout, index, budget=budget, leases=leases, clock=clock)
    except BaseException:
        index.close()
        raise


def _recover(layout: Layout, index: Index, *, budget: Budget, leases: LeaseSettings, clock: Clock) -> Parts:  # noqa: ARG001
    unclean = _went_down(index)
    temporaries = drop_temporaries(layout)
    partials, dropped = clean_ingests(layout)
    staged, trashed = clean_trees(layout)
    scanned = scan_blobs(layout)
    index.reconcile(scanned)
    blobs = Blobs(layout, index, count=len(scanned), size=sum(size for size, _ in scanned.values()))
    found, unreadable = read_refs(layout)
    checked, quarantined = check_models(layout, found, blobs)
    refs, holds, unclaimed = Refs(layout, checked), Holds(), set[TreeId]()
    trees = Trees(layout, holds.lock)
    removal = Removal(
        layout, refs=refs, trees=trees, blobs=blobs, index=index, holds=holds, unclaimed=unclaimed
    )  # fmt: skip
    removals = announced_removals(layout)
    for record in removals:
        removal.finish(record)
    found_leases, bad_leases = read_leases(layout)
    found_pins, bad_pins = load_pins(layout)
    found_wants, bad_wants = read_want_lists(layout)
    unread = [
        f"{path} cannot be read: {what}"
        for paths, what in (
            (
                bad_leases,
                "what it leased is not known, so nothing is evicted until it is taken again, listed or released",
            ),
            (bad_pins, "the name stays pinned"),
            (bad_wants, "what it wants is not known, so nothing of it is withdrawn until it is written again"),
        )
        for path in paths
    ]
    transitions = Transitions()
    made, strays, problems = restore_links(layout, checked)
    report = RecoveryReport(
        unclean=unclean,
        partials_kept=len(partials),
        partials_dropped=dropped,
        staging_dropped=staged,
        trash_finished=trashed,
        removals_finished=len(removals),
        temporaries_dropped=temporaries,
        symlinks_made=made,
        symlinks_dropped=strays,
        refs_damaged=set_aside(layout, unreadable),
        leases_damaged=len(bad_leases),
        models_damaged=sum(found[name] != ref for name, ref in checked.items()),
        blobs_quarantined=quarantined,
        index_rebuilt=index.rebuilt,
    )
    return Parts(
        aliases=Aliases(layout),
        blobs=blobs,
        holds=holds,
        index=index,
        ingests=Ingests(layout, sizes=partials),
        refs=refs,
        leases=Leases(layout, holds, leases=found_leases, settings=leases, clock=clock, transitions=transitions),
        pins=Pins(layout, found_pins, clock=clock, transitions=transitions),
        removal=removal,
        space=Space(lambda: disk(layout.root)),
        transitions=transitions,
        trees=trees,
        unclaimed=unclaimed,
        wants=WantLists(layout, found_wants, unread=(path.stem for path in bad_wants), transitions=transitions),
        report=report,
        warnings=(*problems, *unread),
    )


def _went_down(index: Index) -> bool:
    """Whether the machine stopped under the last daemon. What that one sealed last is then doubted."""
    boot = boot_id()
    unclean = index.fact("clean") == "no" and index.fact("boot") != boot
    if unclean:
        index.doubt(span=DOUBT)
    index.note("boot", boot)
    index.note("clean", "no")
    return unclean
