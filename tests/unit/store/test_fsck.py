from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cached import fsops
from cached.layout import Layout
from cached.store.fsck import check
from cached.store.store import Store
from tests.unit.store.making import digest_of, model, sealed, snapshot

DATA = b"weights"


def problems(root: Path, *, quick: bool = False) -> list[str]:
    return [f"{found.what}: {found.problem}" for found in check(Layout(root), quick=quick).problems]


def writable(path: Path) -> Path:
    path.chmod(0o644)
    return path


def blob(store: Store, data: bytes = DATA) -> Path:
    return store.layout.blob(digest_of(data))


def tree_file(store: Store) -> Path:
    (path,) = store.layout.trees.glob("*/x")
    return path


def test_a_sound_root_has_no_problems_and_is_not_touched(store: Store) -> None:
    model(store, "m", {"x": DATA, "folder/y": b"y"})
    before = snapshot(store.layout.root)
    report = check(store.layout, quick=False)
    assert (report.problems, report.notes) == ([], [])
    assert (report.blobs, report.bytes, report.trees, report.models) == (2, len(DATA) + 1, 1, 1)
    assert snapshot(store.layout.root) == before


def flip(store: Store) -> None:
    writable(blob(store)).write_bytes(b"WEIGHTS")
    blob(store).chmod(0o444)


def unlink_in_tree(store: Store) -> None:
    tree_file(store).parent.chmod(0o755)
    tree_file(store).unlink()


def copy_in_tree(store: Store) -> None:
    tree_file(store).parent.chmod(0o755)
    (path := tree_file(store)).unlink()
    path.write_bytes(DATA)
    path.chmod(0o444)


def add_to_tree(store: Store) -> None:
    tree_file(store).parent.chmod(0o755)
    tree_file(store).with_name("z").write_bytes(b"z")


def break_ref(store: Store) -> None:
    (store.layout.refs / "m.json").write_text("{")


def break_manifest(store: Store) -> None:
    (path,) = store.layout.manifests.iterdir()
    path.write_text("{}")


def break_lease(store: Store) -> None:
    (store.layout.leases / "a.json").write_text("{}")


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (flip, ["content is not what its name says"]),
        (lambda store: writable(blob(store)), ["mode is 0644", "kind, size or mode differ"]),
        (lambda store: blob(store).unlink(), ["its blob is missing"]),
        (unlink_in_tree, ["x: it is missing"]),
        (copy_in_tree, ["not the inode of its blob"]),
        (add_to_tree, ["z: its manifest does not have it"]),
        (break_ref, ["m.json: it cannot be read"]),
        (break_manifest, ["its manifest is missing or damaged", "it cannot be read"]),
        (lambda store: fsops.remove_folder(tree_file(store).parent), ["is missing"]),
        (break_lease, ["leases/a.json: it cannot be read"]),
        (lambda store: (store.layout.root / "VERSION").write_text("{}"), ["VERSION"]),
    ],
)
def test_each_kind_of_damage_is_found(store: Store, damage: Callable[[Store], object], expected: list[str]) -> None:
    model(store, "m", {"x": DATA})
    damage(store)
    found = problems(store.layout.root)
    assert len(found) == len(expected)
    assert [part for part, text in zip(expected, found, strict=True) if part not in text] == []


def test_a_quick_look_reads_no_content(store: Store) -> None:
    model(store, "m", {"x": DATA})
    flip(store)
    assert problems(store.layout.root, quick=True) == []


def test_what_a_start_cleans_up_strangers_and_unused_damage_are_notes(store: Store) -> None:
    model(store, "m", {"x": DATA})
    sealed(store, b"an orphan")
    (store.layout.trees / ".staging-0123").mkdir()
    (store.layout.trees / "somebody's").mkdir()
    (store.layout.quarantine / "old").write_bytes(b"")
    break_ref(store)
    (store.layout.refs / "m.json").unlink()
    blob(store).unlink()
    report = check(store.layout, quick=False)
    assert report.problems == []
    notes = {Path(note.what).name.partition("-")[0] for note in report.notes}
    assert {"x", ".staging", "somebody's", "old", "m"} <= notes
