"""Start-up: make the root what a clean stop would have left. Run twice, the second time changes nothing.

Damage is a miss: what is not as it was published is fetched again, never believed and never repaired in place.
Paths that we did not make are left alone. Nothing published is removed here, except what a removal that was
announced before the crash still owes.
"""

from __future__ import annotations

import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cached import codec, fsops
from cached.errors import Conflict
from cached.layout import TEMP, Layout
from cached.store.blobs import MODE, Blobs
from cached.store.records import Manifest, Placed, Ref, read_record
from cached.store.refs import drop_links, links_of, own_links, point_links
from cached.store.trees import damaged_files, seal_top
from cached.types import ModelName


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryReport:
    """What the start found and did; all zero and False after a clean stop."""

    unclean: bool = False
    """The machine went down while a daemon ran here."""
    partials_kept: int = 0
    partials_dropped: int = 0
    staging_dropped: int = 0
    trash_finished: int = 0
    removals_finished: int = 0
    temporaries_dropped: int = 0
    symlinks_made: int = 0
    symlinks_dropped: int = 0
    refs_damaged: int = 0
    """Moved to quarantine/."""
    leases_damaged: int = 0
    """They stay, and keep everything from being evicted."""
    models_damaged: int = 0
    """Refs whose tree is missing or damaged: demanded again."""
    blobs_quarantined: int = 0
    index_rebuilt: bool = False


def drop_temporaries(layout: Layout) -> int:
    """Remove what `fsops.temporary` names were left behind; how many."""
    folders = (layout.root, *layout.folders)
    found = [path for folder in folders for path in folder.iterdir() if path.name.startswith(TEMP)]
    return sum(fsops.unlink(path) for path in found)


def set_aside(layout: Layout, damaged: Sequence[Path]) -> int:
    """Move records that cannot be read to quarantine/; how many."""
    for path in damaged:
        kind = path.parent.name.removesuffix("s")
        fsops.rename(path, layout.quarantine / f"{kind}-{path.stem}-{secrets.token_hex(4)}")
    if damaged:
        fsops.fsync_dir(layout.quarantine)
    for folder in sorted({path.parent for path in damaged}):
        fsops.fsync_dir(folder)
    return len(damaged)


def check_models(layout: Layout, refs: dict[ModelName, Ref], blobs: Blobs) -> tuple[dict[ModelName, Ref], int]:
    """Refs with `placed` dropped, on disk too, where the tree is missing or damaged; how many blobs were moved away."""
    checked: dict[ModelName, Ref] = {}
    quarantined = 0
    for name, ref in refs.items():
        checked[name] = ref
        if ref.placed and not (sound := _check(layout, ref.placed, blobs)).good:
            quarantined += sound.quarantined
            history = tuple(held for held in ref.history if held.tree != ref.placed.tree)
            checked[name] = msgspec.structs.replace(ref, placed=None, history=history)
            fsops.write_file(layout.ref(name), codec.encode(checked[name]))
    return checked, quarantined


@dataclass(frozen=True, slots=True)
class _Found:
    good: bool
    quarantined: int = 0


def _check(layout: Layout, placed: Placed, blobs: Blobs) -> _Found:
    manifest = read_record(layout.manifest(placed.tree), Manifest)
    if manifest is None or manifest.tree != placed.tree or not layout.tree(placed.tree).is_dir():
        return _Found(good=False)
    damaged = set(damaged_files(layout, manifest, copies=set(placed.copied)))
    suspects = {file.digest: file.size for file in manifest.files if file.path in damaged}
    moved = [digest for digest, size in suspects.items() if _is_altered(layout.blob(digest), size)]
    for digest in moved:
        blobs.quarantine(digest)
    if not damaged:
        seal_top(layout, placed.tree)
    return _Found(good=not damaged, quarantined=len(moved))


def _is_altered(blob: Path, size: int) -> bool:
    """Whether a blob that is there is not as it was sealed."""
    try:
        state = blob.lstat()
    except FileNotFoundError:
        return False
    return state.st_size != size or stat.S_IMODE(state.st_mode) != MODE


def restore_links(layout: Layout, refs: dict[ModelName, Ref]) -> tuple[int, int, tuple[str, ...]]:
    """Make the symlinks that refs should have and have not, remove those of no ref: how many of each, and what
    stood in the way (a name that somebody took for something else must not stop the start). Raises OSError.
    """
    wanted = {path for ref in refs.values() for path in links_of(layout, ref)}
    strays = own_links(layout).keys() - wanted
    drop_links(layout, iter(strays))
    made, problems = 0, []
    for ref in refs.values():
        try:
            made += point_links(layout, ref)
        except Conflict as error:
            problems.append(f"{error.message}: {error.hint}")
    return made, len(strays), tuple(problems)


def boot_id() -> str:
    """Which run of the kernel this is."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
