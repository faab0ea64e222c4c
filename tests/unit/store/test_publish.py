from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from cached import failpoints
from cached.errors import CachedError, Corrupt, NotFound, Permanent
from cached.store.records import ManifestFile
from cached.store.store import Store
from tests.unit.store.making import (
    a_ref,
    broken_promises,
    digest_of,
    leftovers,
    listed,
    model,
    published,
    sealed,
)

FILES = {"config.json": b"{}", "weights/a.bin": b"a" * 100, "weights/deep/b.bin": b"b" * 50, "empty": b""}


def test_a_tree_holds_the_files_under_their_names(store: Store) -> None:
    top = store.layout.tree(published(store, FILES))
    found = {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}
    assert found == FILES


def test_a_tree_shares_its_inodes_with_the_blobs(store: Store) -> None:
    top = store.layout.tree(published(store, FILES))
    blob = store.layout.blob(digest_of(b"a" * 100))
    assert (top / "weights/a.bin").stat().st_ino == blob.stat().st_ino


def test_two_trees_share_the_inodes_of_what_they_have_in_common(store: Store) -> None:
    one = store.layout.tree(published(store, FILES))
    two = store.layout.tree(published(store, {**FILES, "config.json": b"{1}"}))
    assert (one / "weights/a.bin").stat().st_ino == (two / "weights/a.bin").stat().st_ino
    assert (one / "weights/a.bin").stat().st_nlink == 3


def test_nothing_in_a_tree_is_writable(store: Store) -> None:
    top = store.layout.tree(published(store, FILES))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (top, *top.rglob("*")) if path.is_dir()}
    assert modes == {0o555}
    assert {stat.S_IMODE(path.stat().st_mode) for path in top.rglob("*") if path.is_file()} == {0o444}


def test_equal_content_is_one_tree_in_whatever_order_it_comes(store: Store) -> None:
    sealed(store, *FILES.values())
    one = store.publish(listed(FILES))
    two = store.publish(list(reversed(listed(FILES))))
    assert one == two
    assert len(list(store.layout.trees.iterdir())) == 1


def test_a_tree_that_is_there_keeps_its_folder(store: Store) -> None:
    inode = store.layout.tree(published(store, FILES)).stat().st_ino
    assert store.layout.tree(published(store, FILES)).stat().st_ino == inode


def test_the_manifest_says_what_a_tree_holds(store: Store) -> None:
    manifest = store.manifest(published(store, FILES))
    assert {file.path: file.digest for file in manifest.files} == {path: digest_of(d) for path, d in FILES.items()}
    assert manifest.size == 152


def test_a_model_without_files_is_a_tree(store: Store) -> None:
    assert list(store.layout.tree(store.publish([]).tree).iterdir()) == []


def test_a_missing_blob_publishes_nothing(store: Store) -> None:
    sealed(store, b"{}")
    with pytest.raises(NotFound, match="of 'empty' is not here"):
        store.publish(listed(FILES))
    assert list(store.layout.trees.iterdir()) == []


def test_a_blob_of_another_size_publishes_nothing(store: Store) -> None:
    sealed(store, b"abc")
    with pytest.raises(Corrupt, match="has 3 bytes instead of 4"):
        store.publish([ManifestFile("x", 4, digest_of(b"abc"))])
    assert list(store.layout.trees.iterdir()) == []


@pytest.mark.parametrize("paths", [("../x",), ("/x",), ("a", "a/b"), ("a//b",)])
def test_names_that_escape_or_clash_publish_nothing(store: Store, paths: tuple[str, ...]) -> None:
    sealed(store, b"x")
    with pytest.raises(Permanent):
        store.publish(listed(dict.fromkeys(paths, b"x")))
    assert list(store.layout.trees.iterdir()) == []


def test_a_path_too_long_for_the_disk_says_so(store: Store) -> None:
    sealed(store, b"x")
    with pytest.raises(Permanent, match="File name too long") as caught:
        store.publish(listed({"/".join(["d" * 200] * 20): b"x"}))
    assert "--ignore" in caught.value.hint
    assert list(store.layout.trees.iterdir()) == []


def test_an_error_in_staging_leaves_no_staging(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed(store, *FILES.values())
    monkeypatch.setattr(failpoints, "_armed", {"fsops.link": (3, "enospc")})
    with pytest.raises(CachedError, match="No space left"):
        store.publish(listed(FILES))
    assert leftovers(store.layout.root) == []
    assert store.publish(listed(FILES)).copied == ()


@pytest.mark.parametrize("damage", ["missing", "cut", "writable", "replaced"])
def test_a_damaged_tree_is_replaced_by_a_sound_one(store: Store, damage: str) -> None:
    top = store.layout.tree(published(store, {"x": b"data"}))
    top.chmod(0o755)
    _damage(top / "x", damage)
    published(store, {"x": b"data"})
    assert broken_promises(store.layout.root) == []
    assert leftovers(store.layout.root) == []


def _damage(path: Path, how: str) -> None:
    if how == "writable":
        path.chmod(0o644)
        return
    path.unlink()
    if how != "missing":
        path.write_bytes(b"dat" if how == "cut" else b"DATA")
        path.chmod(0o444)


@pytest.fixture
def few_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that gives an inode at most three names."""
    whole = os.link  # noqa: TID251  the fault is put in below the door

    def link(source: Path, target: Path, *, follow_symlinks: bool = True) -> None:
        if source.stat().st_nlink >= 3:
            raise OSError(errno.EMLINK, os.strerror(errno.EMLINK), str(source))
        whole(source, target, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(os, "link", link)


@pytest.mark.usefixtures("few_links")
def test_a_file_with_all_the_links_it_can_have_is_copied(store: Store) -> None:
    sealed(store, b"same")
    found = store.publish(listed(dict.fromkeys("abcd", b"same")))
    assert found.copied == ("c", "d")
    copy = (store.layout.tree(found.tree) / "d").stat()
    assert (copy.st_nlink, stat.S_IMODE(copy.st_mode), copy.st_size) == (1, 0o444, 4)


@pytest.mark.usefixtures("few_links")
def test_a_tree_with_recorded_copies_is_sound_for_the_next_name(store: Store) -> None:
    sealed(store, b"same")
    files = listed(dict.fromkeys("abcd", b"same"))
    found = store.publish(files)
    store.put_ref(a_ref("m", found.tree, copied=found.copied))
    inode = store.layout.tree(found.tree).stat().st_ino
    assert store.publish(files) == found
    assert store.layout.tree(found.tree).stat().st_ino == inode


def test_a_damaged_manifest_is_an_error_not_an_answer(store: Store) -> None:
    ref = model(store, "m", FILES)
    assert ref.placed
    store.layout.manifest(ref.placed.tree).write_bytes(b'{"files":[]}')
    with pytest.raises(Corrupt, match="is damaged"):
        store.manifest(ref.placed.tree)


def test_an_unknown_tree_has_no_manifest(store: Store) -> None:
    tree = published(store, FILES)
    store.layout.manifest(tree).unlink()
    with pytest.raises(NotFound):
        store.manifest(tree)
