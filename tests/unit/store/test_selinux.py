from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from cached import fsops
from cached.store import selinux
from cached.store.store import Store
from tests.unit.store.making import digest_of, downloaded, listed, published

ATTRIBUTE = "security.selinux"


def label_of(path: Path) -> str:
    return os.getxattr(path, ATTRIBUTE, follow_symlinks=False).rstrip(b"\0").decode()


@pytest.fixture
def switched_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    probe = tmp_path / "probe"
    probe.touch()
    try:
        os.setxattr(probe, ATTRIBUTE, b"probe\0")
    except OSError as error:
        pytest.skip(f"this process may not label files here: {error.strerror}")
    monkeypatch.setattr(selinux, "is_on", lambda: True)


def test_every_file_and_folder_of_a_tree_may_be_read_by_any_container(store: Store, switched_on: None) -> None:
    top = store.layout.tree(published(store, {"a": b"a", "sub/deep/b": b"b"}))
    paths = [top, *top.rglob("*")]
    assert {path.name: label_of(path) for path in paths} == {path.name: selinux.LABEL for path in paths}


def test_the_label_is_durable_before_the_blob_has_its_name(store: Store, switched_on: None) -> None:
    ingest = downloaded(store, b"data")
    kinds: list[str] = []
    with fsops.observed(lambda op: kinds.append(op.kind)):
        store.seal([(ingest, digest_of(b"data"))])
    assert kinds[:4] == ["chmod", "label", "fsync", "link"]


def test_a_mount_with_a_label_of_its_own_keeps_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "not supported")

    monkeypatch.setattr(selinux, "is_on", lambda: True)
    monkeypatch.setattr(fsops, "label", refuse)
    tree = published(store, {"a": b"a"})
    assert store.manifest(tree).files == tuple(listed({"a": b"a"}))


def test_nothing_is_labelled_where_selinux_is_off(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[str] = []
    monkeypatch.setattr(selinux, "is_on", lambda: False)
    with fsops.observed(lambda op: kinds.append(op.kind)):
        published(store, {"a": b"a"})
    assert "label" not in kinds
