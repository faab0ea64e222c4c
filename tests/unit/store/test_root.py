from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cached.errors import Permanent
from cached.layout import Layout
from cached.store import root as root_module
from cached.store.root import check_place, folds_names
from cached.store.store import Store
from cached.types import ModelName
from tests.unit.store.making import a_ref, open_store

NFS, TMPFS, OVERLAY, EXT4 = 0x6969, 0x01021994, 0x794C7630, 0xEF53


def test_an_empty_root_gets_every_folder_and_its_two_files(store: Store) -> None:
    layout = store.layout
    assert [folder for folder in layout.folders if not folder.is_dir()] == []
    assert len(list(layout.blobs.iterdir())) == 256
    assert b'"layout":1' in layout.version.read_bytes()
    assert layout.cachedir_tag.read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")


def test_a_root_is_made_with_its_parents(tmp_path: Path) -> None:
    open_store(tmp_path / "a" / "b").close()
    assert (tmp_path / "a" / "b" / "VERSION").exists()


def test_a_root_keeps_its_name_for_life(root: Path) -> None:
    open_store(root).close()
    version = (root / "VERSION").read_bytes()
    open_store(root).close()
    assert (root / "VERSION").read_bytes() == version


def test_a_missing_shard_is_made_again(root: Path) -> None:
    open_store(root).close()
    (root / "blobs/sha256/7f").rmdir()
    open_store(root).close()
    assert (root / "blobs/sha256/7f").is_dir()


@pytest.mark.parametrize(
    ("text", "said"),
    [('{"layout":2,"uuid":"x"}', "has layout 2, and this program knows only layout 1"), ("", "is damaged")],
)
def test_a_root_that_is_not_understood_is_not_touched(root: Path, text: str, said: str) -> None:
    root.mkdir()
    (root / "VERSION").write_text(text)
    with pytest.raises(Permanent, match=said):
        open_store(root)
    assert {path.name for path in root.iterdir()} == {"VERSION", "daemon.lock"}


def test_a_start_that_was_refused_gives_the_lock_back(root: Path) -> None:
    root.mkdir()
    (root / "VERSION").write_text("")
    with pytest.raises(Permanent):
        open_store(root)
    (root / "VERSION").unlink()
    open_store(root).close()


def test_a_root_that_is_a_file_is_refused(root: Path) -> None:
    root.write_text("")
    with pytest.raises(Permanent, match="is not a folder"):
        open_store(root)
    root.unlink()


def test_what_strangers_put_into_a_root_is_left_alone(root: Path) -> None:
    strangers = [root / "lost+found", root / "trees/mine", root / "ingest/mine", root / "blobs/sha256/00/mine"]
    open_store(root).close()
    for path in strangers:
        path.mkdir()
        (path / "file").write_text("precious")
    (root / "models/mine").symlink_to("elsewhere")
    open_store(root).close()
    assert [(path / "file").read_text() for path in strangers] == ["precious"] * 4
    assert str((root / "models/mine").readlink()) == "elsewhere"


def _check(root: Path, *, network: bool = False, slash: bool = True) -> tuple[str, ...]:
    root.mkdir(exist_ok=True)
    return check_place(root, allow_root_filesystem=slash, allow_network_filesystem=network)


def _say(monkeypatch: pytest.MonkeyPatch, kind: int) -> None:
    monkeypatch.setattr(root_module, "filesystem", lambda _path: kind)


def test_a_network_file_system_is_refused_by_name(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _say(monkeypatch, NFS)
    with pytest.raises(Permanent, match="NFS") as caught:
        _check(root)
    assert "allow_network_filesystem" in caught.value.hint


def test_a_network_file_system_can_be_forced(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _say(monkeypatch, NFS)
    assert _check(root, network=True) == ()


@pytest.mark.parametrize(("kind", "word"), [(TMPFS, "tmpfs"), (OVERLAY, "overlay")])
def test_a_root_that_does_not_last_is_warned_about(
    root: Path, monkeypatch: pytest.MonkeyPatch, kind: int, word: str
) -> None:
    _say(monkeypatch, kind)
    (warning,) = _check(root)
    assert word in warning


def test_the_file_system_of_slash_is_refused_unless_allowed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.mkdir()
    slash = Path("/").stat()
    monkeypatch.setattr(Path, "stat", lambda _path: slash)
    with pytest.raises(Permanent, match="holds /") as caught:
        check_place(root, allow_root_filesystem=False, allow_network_filesystem=False)
    assert "allow_root_filesystem" in caught.value.hint


def test_a_read_only_file_system_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = os.statvfs("/")
    fields = [*state[:8], state.f_flag | os.ST_RDONLY, *state[9:]]
    monkeypatch.setattr(os, "statvfs", lambda _path: os.statvfs_result(fields))
    with pytest.raises(Permanent, match="read-only"):
        _check(root)


def test_the_kernel_is_asked_which_file_system_it_is() -> None:
    assert root_module.filesystem(Path("/proc")) == 0x9FA0


def test_asking_about_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        root_module.filesystem(tmp_path / "absent")


def test_a_file_system_that_tells_names_apart_does_not_fold(store: Store) -> None:
    assert store.folds is False


def test_a_file_system_that_folds_case_is_noticed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    exists = Path.exists
    folded = lambda path: exists(path) or exists(path.with_name(path.name.lower()))  # noqa: E731
    monkeypatch.setattr(Path, "exists", folded)
    assert folds_names(Layout(store.layout.root)) is True


def test_the_root_is_no_more_open_than_it_must_be(store: Store) -> None:
    modes = {stat.S_IMODE(folder.stat().st_mode) for folder in store.layout.folders}
    assert {mode & 0o022 for mode in modes} == {0}


@pytest.mark.parametrize("path", ["refs/heads.json", "trees/.trash-mine/keep", "models/mine"])
def test_a_folder_that_holds_other_things_is_not_taken_for_a_cache(root: Path, path: str) -> None:
    mine = root / path
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(Permanent, match="no VERSION"):
        open_store(root)
    assert mine.read_text() == "mine"


def test_refs_are_for_the_daemon_alone(store: Store) -> None:
    store.put_ref(a_ref("m", None))
    assert stat.S_IMODE(store.layout.ref(ModelName("m")).stat().st_mode) == 0o600
