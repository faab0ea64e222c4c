from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from cached.store.records import Held
from cached.store.recover import RecoveryReport
from cached.store.store import Store
from tests.unit.store.making import (
    a_ref,
    broken_promises,
    digest_of,
    downloaded,
    leftovers,
    model,
    open_store,
    part,
    published,
    snapshot,
)

FILES = {"x": b"one", "d/y": b"other"}
NOTHING = RecoveryReport()


def reopened(root: Path) -> RecoveryReport:
    store = open_store(root)
    store.close()
    return store.recovered


def test_a_clean_stop_leaves_nothing_to_do(root: Path) -> None:
    store = open_store(root)
    model(store, "m", FILES)
    store.close()
    before = snapshot(root)
    assert reopened(root) == NOTHING
    assert snapshot(root) == before


def test_an_end_without_a_clean_mark_on_the_same_boot_is_no_reason_for_doubt(root: Path) -> None:
    open_store(root).close(clean=False)
    assert not reopened(root).unclean


def _partial(store: Store) -> None:
    downloaded(store, b"kept", resumable=True).journal([part(0, 2)])
    downloaded(store, b"dropped", resumable=False)


def _broken_meta(store: Store) -> None:
    ingest = downloaded(store, b"kept", resumable=True)
    (ingest.folder / "meta.json").write_bytes(b"{")


def _staging(store: Store) -> None:
    folder = store.layout.trees / ".staging-0123456789abcdef" / "d"
    folder.mkdir(parents=True)
    folder.chmod(0o555)


def _trash(store: Store) -> None:
    published(store, FILES)
    for tree in store.layout.trees.iterdir():
        tree.rename(store.layout.trees / ".trash-0123456789abcdef")


def _temporaries(store: Store) -> None:
    layout = store.layout
    for folder in (layout.root, layout.refs, layout.manifests, layout.models, layout.blobs, layout.trees):
        (folder / ".tmp-0123456789abcdef").touch()


def _missing_link(store: Store) -> None:
    (store.layout.models / "m").unlink()


def _wrong_link(store: Store) -> None:
    (store.layout.models / "m").unlink()
    (store.layout.models / "m").symlink_to("../trees/" + "0" * 64)


def _stray_link(store: Store) -> None:
    (store.layout.models / "gone").symlink_to("../trees/" + "0" * 64)


def _damaged_ref(store: Store) -> None:
    store.layout.ref(model(store, "n", {"z": b"z"}).name).write_bytes(b"{}")


def _missing_tree(store: Store) -> None:
    tree = next(iter(store.layout.trees.iterdir()))
    tree.rename(store.layout.trees / ".trash-0123456789abcdef")


def _missing_file(store: Store) -> None:
    tree = next(iter(store.layout.trees.iterdir()))
    tree.chmod(0o755)
    (tree / "x").unlink()


def _cut_blob(store: Store) -> None:
    blob = store.layout.blob(digest_of(b"one"))
    blob.chmod(0o644)
    blob.write_bytes(b"on")
    blob.chmod(0o444)


def _missing_blob(store: Store) -> None:
    store.layout.blob(digest_of(b"one")).unlink()


def _missing_manifest(store: Store) -> None:
    next(iter(store.layout.manifests.iterdir())).unlink()


def _announced_removal(store: Store) -> None:
    (store.layout.refs / "m.json").rename(store.layout.refs / ".trash-0123456789abcdef.json")


def _no_index(store: Store) -> None:
    store.layout.index.unlink()


CRASHES: dict[Callable[[Store], None], RecoveryReport] = {
    _partial: RecoveryReport(partials_kept=1, partials_dropped=1),
    _broken_meta: RecoveryReport(partials_dropped=1),
    _staging: RecoveryReport(staging_dropped=1),
    _trash: RecoveryReport(trash_finished=1, models_damaged=1, symlinks_dropped=2),
    _temporaries: RecoveryReport(temporaries_dropped=6),
    _missing_link: RecoveryReport(symlinks_made=1),
    _wrong_link: RecoveryReport(symlinks_made=1),
    _stray_link: RecoveryReport(symlinks_dropped=1),
    _damaged_ref: RecoveryReport(refs_damaged=1, symlinks_dropped=2),
    _missing_tree: RecoveryReport(trash_finished=1, models_damaged=1, symlinks_dropped=2),
    _missing_file: RecoveryReport(models_damaged=1, symlinks_dropped=2),
    _cut_blob: RecoveryReport(models_damaged=1, blobs_quarantined=1, symlinks_dropped=2),
    _missing_blob: RecoveryReport(models_damaged=1, symlinks_dropped=2),
    _missing_manifest: RecoveryReport(models_damaged=1, symlinks_dropped=2),
    _announced_removal: RecoveryReport(removals_finished=1),
    _no_index: RecoveryReport(index_rebuilt=True),
}


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: crash.__name__.strip("_"))
def test_recovery_mends_what_it_finds_and_says_so(root: Path, crash: Callable[[Store], None]) -> None:
    store = open_store(root)
    model(store, "m", FILES)
    crash(store)
    store.close()
    assert reopened(root) == CRASHES[crash]
    assert leftovers(root) == []


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: crash.__name__.strip("_"))
def test_recovery_run_twice_changes_nothing_the_second_time(root: Path, crash: Callable[[Store], None]) -> None:
    store = open_store(root)
    model(store, "m", FILES)
    crash(store)
    store.close()
    reopened(root)
    before = snapshot(root)
    assert reopened(root) == RecoveryReport(partials_kept=CRASHES[crash].partials_kept)
    assert snapshot(root) == before


@pytest.mark.parametrize(
    "crash",
    [_missing_tree, _missing_file, _cut_blob, _missing_blob, _missing_manifest],
    ids=lambda crash: crash.__name__.strip("_"),
)
def test_a_damaged_model_becomes_a_demand_and_can_be_put_in_place_again(
    root: Path, crash: Callable[[Store], None]
) -> None:
    store = open_store(root)
    ref = model(store, "m", FILES)
    crash(store)
    store.close()
    again = open_store(root)
    assert again.refs() == {"m": msgspec.structs.replace(ref, placed=None)}
    model(again, "m", FILES)
    again.close()
    assert broken_promises(root) == []
    assert reopened(root) == NOTHING


def test_a_history_whose_tree_is_gone_makes_no_dangling_symlink(root: Path) -> None:
    store = open_store(root)
    old, new = published(store, FILES), published(store, {"z": b"z"})
    store.put_ref(msgspec.structs.replace(a_ref("m", new), history=(Held(tree=old, since=1.0, until=2.0),)))
    store.layout.tree(old).rename(store.layout.trees / ".trash-0123456789abcdef")
    store.close()
    assert reopened(root).symlinks_dropped == 1
    assert {path.name for path in (root / "models").iterdir()} == {"m", f"m@{new[:12]}"}


def test_a_stranger_under_a_models_name_is_a_warning_not_an_obstacle(root: Path) -> None:
    store = open_store(root)
    model(store, "m", FILES)
    store.close()
    (root / "models/m").unlink()
    (root / "models/m").mkdir()
    again = open_store(root)
    (warning,) = again.warnings
    assert "not cached's" in warning
    again.close()


def test_other_generations_in_an_ingest_are_removed(root: Path) -> None:
    store = open_store(root)
    ingest = downloaded(store, b"kept", resumable=True)
    (ingest.folder / "data.0000").write_bytes(b"old")
    store.close()
    reopened(root)
    assert {path.name for path in ingest.folder.iterdir()} == {
        "meta.json",
        f"data.{ingest.generation}",
        f"parts.{ingest.generation}",
    }


def test_a_download_whose_bytes_have_become_a_blob_is_only_unlinked(root: Path) -> None:
    store = open_store(root)
    ingest = downloaded(store, b"one", resumable=True)
    ingest.path.chmod(0o444)
    store.layout.blob(digest_of(b"one")).hardlink_to(ingest.path)
    store.close()
    again = open_store(root)
    assert again.recovered.partials_dropped == 1
    assert again.layout.blob(digest_of(b"one")).read_bytes() == b"one"
    again.close()
