"""kill -9 after every single operation on the disk: what is promised holds at that instant, recovery finishes
what was begun, and the same work goes through afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cached import failpoints, fsops
from cached.fsops import Op
from cached.store.records import ManifestFile
from cached.store.store import Store
from cached.types import ModelName
from tests.unit.store.making import (
    a_ref,
    broken_promises,
    digest_of,
    downloaded,
    leftovers,
    open_store,
    part,
    sealed,
)

BIG, SMALL, OTHER = b"big" * 1000, b"small", b"other"

FAILPOINTS = [
    "ingest.after_data_sync",
    "ingest.after_journal_sync",
    "seal.after_sync",
    "seal.after_link",
    "seal.after_shard_sync",
    "seal.after_clear",
    "publish.after_manifest",
    "publish.after_stage",
    "publish.after_rename",
    "publish.after_commit",
    "ref.after_write",
    "ref.after_links",
    "remove.after_links",
    "remove.after_rename",
    "remove.after_unlink",
    "remove.after_blobs",
]


def put(store: Store, name: str, files: dict[str, bytes]) -> None:
    """What the engine does for one want: take what is here, fetch the rest, publish, record."""
    store.put_ref(a_ref(name, None))
    missing = [data for data in files.values() if store.blob_size(digest_of(data)) is None]
    items = [(downloaded(store, data, resumable=len(data) > 100), digest_of(data)) for data in missing]
    for ingest, _ in items:
        if not ingest.parts:
            ingest.journal([part(0, ingest.size)])
    store.seal(items)
    found = store.publish([ManifestFile(path, len(data), digest_of(data)) for path, data in files.items()])
    store.put_ref(a_ref(name, found.tree))


def whole_life(root: Path) -> None:
    """Two models that share a file come, one of them goes, and what nobody needs is swept up."""
    store = open_store(root)
    put(store, "m", {"a/big": BIG, "small": SMALL})
    put(store, "n", {"big": BIG, "other": OTHER})
    if store.ref(ModelName("m")):
        store.remove(ModelName("m"))
    sealed(store, b"an orphan")
    downloaded(store, b"a partial" * 100, resumable=True).close()
    store.sweep()
    store.close()


def killed_child(work: Callable[[], None]) -> bool:
    """Run `work` in a child; whether it was killed. An error in it is printed and fails the test."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001  the child must not go on as a second pytest
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def check_what_is_left(root: Path) -> None:
    assert broken_promises(root) == []
    store = open_store(root)
    assert (broken_promises(root), leftovers(root)) == ([], [])
    blobs = [path.stat().st_size for path in store.layout.blobs.glob("*/*")]
    partial = sum(path.stat().st_size for path in store.layout.ingests.glob("*/data.*"))
    usage = store.usage()
    assert (usage.blobs, usage.bytes_blobs, usage.bytes_partial) == (len(blobs), sum(blobs), partial)
    store.close()
    again = open_store(root)
    report = again.recovered
    assert (report.symlinks_made, report.models_damaged, report.removals_finished, report.partials_dropped) == (
        0,
        0,
        0,
        0,
    )
    again.close()
    whole_life(root)
    assert broken_promises(root) == []
    assert [path.name for path in (root / "refs").iterdir()] == ["n.json"]
    assert sorted(path.stat().st_size for path in root.glob("blobs/sha256/*/*")) == [len(OTHER), len(BIG)]


@pytest.fixture
def fresh_root() -> Iterator[Callable[[], Path]]:
    """Gives a new initialised root each time, and removes the one before.

    In memory where that is possible: a killed process loses nothing that the kernel has, so syncs only cost time.
    """
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield from _roots(Path(folder))


def _roots(folder: Path) -> Iterator[Callable[[], Path]]:
    template, root = folder / "template", folder / "root"
    open_store(template).close()

    def fresh() -> Path:
        if root.exists():
            fsops.remove_folder(root)
        shutil.copytree(template, root)
        return root

    yield fresh
    fsops.remove_folder(root)


@pytest.mark.parametrize("name", FAILPOINTS)
def test_a_kill_at_each_named_place_is_recovered_from(
    fresh_root: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    root = fresh_root()
    with monkeypatch.context() as patched:
        patched.setattr(failpoints, "_armed", {name: (1, "kill")})
        assert killed_child(lambda: whole_life(root))
    check_what_is_left(root)


@pytest.mark.timeout(300)
def test_a_kill_after_every_operation_on_the_disk_is_recovered_from(fresh_root: Callable[[], Path]) -> None:
    for count in range(1, 1000):
        root = fresh_root()

        def life(root: Path = root, count: int = count) -> None:
            with fsops.observed(_killer(count)):
                whole_life(root)

        if not killed_child(life):
            break
        check_what_is_left(root)
    assert 100 < count < 1000


def _killer(count: int) -> Callable[[Op], None]:
    left = [count]

    def observe(_op: Op) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return observe
