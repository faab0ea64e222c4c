"""Group commit: what one wait makes durable, in which order, and whom an error concerns."""

from __future__ import annotations

import errno
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cached import failpoints, fsops
from cached.fsops import Kind, Op
from cached.store.together import OPEN, Together


@pytest.fixture
def together(tmp_path: Path) -> Together:
    return Together(tmp_path)


def fail(monkeypatch: pytest.MonkeyPatch, place: str, *, nth: int = 1, action: str = "eio") -> None:
    monkeypatch.setattr(failpoints, "_armed", {place: (nth, action)})


def names(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_one_sync_of_the_folder_makes_everything_in_line_durable(together: Together, tmp_path: Path) -> None:
    ops: list[Op] = []
    (tmp_path / "old").write_bytes(b"old")
    gone = together.remove(tmp_path / "old")
    first, second = (together.write(tmp_path / name, name.encode()) for name in ("a", "b"))
    with fsops.observed(ops.append):
        together.wait([second])
    assert names(tmp_path) == {"a": b"a", "b": b"b"}
    assert (gone.done, first.done, second.done) == (True, True, True)
    kinds = [op.kind for op in ops]
    assert kinds == [*["create", "write"] * 2, "fsync", "fsync", "unlink", "rename", "rename", "fsync_dir"]


def test_changes_of_one_path_take_effect_in_the_order_of_the_line(together: Together, tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    steps = [together.write(path, b"1"), together.remove(path), together.write(path, b"2")]
    steps += [together.write(other, b"1"), together.remove(other)]
    together.wait(steps)
    assert names(tmp_path) == {"a": b"2"}


def test_removing_what_is_gone_is_success(together: Together, tmp_path: Path) -> None:
    together.wait([together.remove(tmp_path / "a")])
    assert names(tmp_path) == {}


def test_a_thousand_files_need_no_thousand_descriptors(together: Together, tmp_path: Path) -> None:
    most, open_now = 0, set[Path]()

    def count(op: Op) -> None:
        nonlocal most
        if op.kind is Kind.CREATE:
            open_now.add(op.path)
            most = max(most, len(open_now))
        elif op.kind is Kind.FSYNC:
            open_now.discard(op.path)

    with fsops.observed(count):
        together.wait([together.write(tmp_path / f"{number}", b"x") for number in range(1000)])
    assert (len(names(tmp_path)), most) == (1000, OPEN)


@pytest.mark.parametrize("place", ["fsops.create", "fsops.write", "fsops.fsync", "fsops.rename"])
def test_an_error_of_one_file_reaches_that_file_alone(
    together: Together, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    changes = [together.write(tmp_path / name, b"new") for name in ("a", "b", "c")]
    fail(monkeypatch, place, nth=2)
    together.wait([changes[0], changes[2]])
    with pytest.raises(OSError, match="Input/output error"):
        together.wait([changes[1]])
    assert names(tmp_path) == {"a": b"new", "c": b"new"}


def test_an_error_of_the_folder_reaches_everybody_in_the_group(
    together: Together, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [together.write(tmp_path / name, b"new") for name in ("a", "b")]
    fail(monkeypatch, "fsops.fsync_dir")
    for change in changes:
        with pytest.raises(OSError, match="Input/output error"):
            together.wait([change])
    after = together.write(tmp_path / "c", b"new")
    together.wait([after])
    assert after.error is None


def test_nobody_takes_his_for_durable_when_the_one_who_worked_for_all_was_broken_off(
    together: Together, tmp_path: Path
) -> None:
    def interrupt(op: Op) -> None:
        if op.kind is Kind.FSYNC:
            raise KeyboardInterrupt

    mine, other = (together.write(tmp_path / name, b"new") for name in ("a", "b"))
    with fsops.observed(interrupt), pytest.raises(KeyboardInterrupt):
        together.wait([mine])
    with pytest.raises(OSError, match="broken off by KeyboardInterrupt") as raised:
        together.wait([other])
    assert raised.value.errno == errno.EIO


def test_those_who_come_during_a_commit_share_the_next(together: Together, tmp_path: Path) -> None:
    kinds = Counter[Kind]()
    lined_up = threading.Semaphore(0)
    begun, release = threading.Event(), threading.Event()

    def watch(op: Op) -> None:
        kinds[op.kind] += 1
        if op.kind is Kind.FSYNC_DIR:
            begun.set()
            assert release.wait(10)

    def write(number: int) -> None:
        change = together.write(tmp_path / str(number), b"x")
        lined_up.release()
        together.wait([change])

    with fsops.observed(watch), ThreadPoolExecutor(17) as pool:
        first = pool.submit(write, 0)
        assert begun.wait(10)
        others = [pool.submit(write, number) for number in range(1, 17)]
        for _ in range(17):
            assert lined_up.acquire(timeout=10)
        release.set()
        for each in (first, *others):
            each.result()
    assert sorted(names(tmp_path), key=int) == [str(number) for number in range(17)]
    assert kinds[Kind.FSYNC_DIR] == 2
