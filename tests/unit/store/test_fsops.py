from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from cached import failpoints, fsops
from cached.fsops import Kind, Op


def test_a_file_is_put_in_place_whole_and_leaves_no_temporary(tmp_path: Path) -> None:
    fsops.write_file(tmp_path / "x", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x", b"new")]


def test_a_file_that_is_replaced_is_never_half_of_both(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old and longer")
    with (tmp_path / "x").open("rb") as reader:
        fsops.write_file(tmp_path / "x", b"new")
        assert reader.read() == b"old and longer"
    assert (tmp_path / "x").read_bytes() == b"new"


def test_a_failed_write_leaves_the_old_file_and_no_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_bytes(b"old")
    monkeypatch.setattr(failpoints, "_armed", {"fsops.fsync": (1, "eio")})
    with pytest.raises(OSError, match="Input/output error"):
        fsops.write_file(tmp_path / "x", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x", b"old")]


def test_a_file_that_need_not_last_is_written_without_a_sync(tmp_path: Path) -> None:
    seen: list[Op] = []
    with fsops.observed(seen.append):
        fsops.write_file(tmp_path / "x", b"new", durable=False)
    assert [op.kind for op in seen] == [Kind.CREATE, Kind.WRITE, Kind.RENAME]


def test_short_writes_are_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: whole(fd, data[:3], offset))
    with fsops.create(tmp_path / "x") as file:
        fsops.pwrite_all(file, b"0123456789", 2)
    assert (tmp_path / "x").read_bytes() == b"\0\x000123456789"


def test_a_second_name_is_never_given_in_place_of_another(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    assert fsops.link(tmp_path / "a", tmp_path / "b") is False
    assert (tmp_path / "b").read_bytes() == b"b"


def test_too_many_links_is_the_callers_to_handle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.EMLINK, os.strerror(errno.EMLINK))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OSError, match="Too many links"):
        fsops.link(tmp_path / "a", tmp_path / "b")


def test_a_folder_is_never_renamed_over_one_that_has_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert fsops.rename_dir(tmp_path / "a", tmp_path / "b") is False
    assert (tmp_path / "b" / "b").exists()


def test_a_name_that_is_gone_already_was_removed(tmp_path: Path) -> None:
    assert fsops.unlink(tmp_path / "x") is False
    assert fsops.rmdir(tmp_path / "x") is False


def test_a_symlink_moves_in_one_step(tmp_path: Path) -> None:
    fsops.replace_symlink("first", tmp_path / "link")
    fsops.replace_symlink("second", tmp_path / "link")
    assert [(path.name, str(path.readlink())) for path in tmp_path.iterdir()] == [("link", "second")]


def test_a_symlink_does_not_replace_a_folder(tmp_path: Path) -> None:
    (tmp_path / "link").mkdir()
    with pytest.raises(IsADirectoryError):
        fsops.replace_symlink("target", tmp_path / "link")
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_a_read_only_folder_is_removed_with_all_below_it(tmp_path: Path) -> None:
    deep = tmp_path / "top" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").touch(0o444)
    for folder in (deep, deep.parent, tmp_path / "top"):
        folder.chmod(0o555)
    fsops.remove_folder(tmp_path / "top")
    assert list(tmp_path.iterdir()) == []


def test_a_symlink_in_a_removed_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "link").symlink_to(tmp_path / "precious")
    fsops.remove_folder(tmp_path / "top")
    assert [path.name for path in tmp_path.rglob("*")] == ["precious", "file"]


def test_a_folder_deeper_than_the_call_stack_is_removed(tmp_path: Path) -> None:
    deep = str(tmp_path / "top")
    for _ in range(1500):
        Path(deep).mkdir()
        deep += "/d"
    fsops.remove_folder(tmp_path / "top")
    assert list(tmp_path.iterdir()) == []


def test_a_copy_has_its_own_inode_and_mode(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    fsops.copy_file(tmp_path / "a", tmp_path / "b", mode=0o444)
    state = (tmp_path / "b").stat()
    assert (state.st_nlink, stat.S_IMODE(state.st_mode)) == (1, 0o444)
    assert (tmp_path / "b").read_bytes() == b"x" * 3_000_000


def test_a_file_is_not_opened_through_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        fsops.open_existing(tmp_path / "link")


def test_an_error_on_a_descriptor_names_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failpoints, "_armed", {"fsops.fdatasync": (1, "eio")})
    with fsops.create(tmp_path / "x") as file, pytest.raises(OSError, match="x") as caught:
        fsops.fdatasync(file)
    assert caught.value.filename == str(tmp_path / "x")


def test_an_operation_that_failed_is_not_recorded(tmp_path: Path) -> None:
    seen: list[Op] = []
    with fsops.observed(seen.append):
        fsops.unlink(tmp_path / "x")
    assert seen == []


def test_a_file_that_is_closed_twice_closes_once(tmp_path: Path) -> None:
    file = fsops.create(tmp_path / "x")
    file.close()
    other = fsops.create(tmp_path / "y")
    file.close()
    assert other.stat().st_size == 0
    other.close()
