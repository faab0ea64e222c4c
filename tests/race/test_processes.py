"""Processes that publish one content into one root at once, with flock a no-op: the lock keeps work from being
done twice, but nothing that is promised may depend on it. Readers look on and must never see a wrong byte."""

from __future__ import annotations

import mmap
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from cached import fsops
from cached.errors import Conflict, NotFound
from cached.fsops import File
from cached.layout import Layout
from cached.store import lock
from cached.store.store import Store
from tests.helpers.forks import DONE, REFUSED, Child, Work, fork, race
from tests.unit.store.making import a_ref, broken_promises, digest_of, downloaded, leftovers, listed, open_store

NAMES = [f"model-{number}" for number in range(4)]
ROUNDS = 25 if os.environ.get("CACHED_PROVE") == "1" else 5
SHARED, OWN = bytes(range(256)) * 512, b"of one name alone"
DIGEST = digest_of(SHARED)

Damage = Callable[[Path], None]


def _put(blob: Path, content: bytes) -> None:
    blob.write_bytes(content)
    blob.chmod(0o444)


BEFORE: dict[str, Damage] = {
    "nothing": lambda _blob: None,
    "a blob with wrong bytes of the right size": lambda blob: _put(blob, SHARED[:-1] + b"!"),
    "a truncated blob": lambda blob: _put(blob, SHARED[: len(SHARED) // 2]),
    "a sound blob that was never verified": lambda blob: _put(blob, SHARED),
}
UNDAMAGED = {"nothing", "a sound blob that was never verified"}
"""Before these a process without a lock can be sure of its tree. Before the others one may move away what another has
just put there: no system call removes a name only if it still is a certain inode's."""


@pytest.fixture
def without_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every lock is granted, and the start does not notice."""

    def granted(_file: File) -> bool:
        return True

    monkeypatch.setattr(lock, "_locked", granted)
    monkeypatch.setattr(lock, "_refuse_if_flock_does_nothing", lambda _path: None)


@pytest.fixture
def fresh() -> Iterator[Callable[[], Path]]:
    """Gives a new root, complete and empty, each time; the one before is removed. In memory where that is possible."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        template, root = Path(folder, "template"), Path(folder, "root")
        open_store(template).close()

        def make() -> Path:
            fsops.remove_folder(root)
            shutil.copytree(template, root)
            return root

        yield make
        fsops.remove_folder(root)


def publish(store: Store, name: str) -> None:
    """What a download of one name does once its bytes are here; each process writes a file of its own."""
    contents = {"shared": SHARED, "own": OWN + name.encode()}
    try:
        items = [(downloaded(store, data, pin=f"{name}/{path}"), digest_of(data)) for path, data in contents.items()]
    except FileNotFoundError as error:  # a start took it for what a crash left: a worker would be refused by this
        raise NotFound(str(error)) from error
    store.seal(items)
    found = store.publish(listed(contents))
    store.put_ref(a_ref(name, found.tree))


def opened_before(root: Path, name: str) -> Work:
    store = open_store(root)
    return partial(publish, store, name)


def opened_in_the_race(root: Path, name: str) -> Work:
    return lambda: publish(open_store(root), name)


def reader(root: Path) -> Child:
    """Hashes whatever `models/` shows until the test kills it; ends by itself only when it saw a wrong byte."""

    def read() -> None:
        while True:
            for path in root.glob("models/*/shared"):
                content = path.read_bytes()
                assert digest_of(content) == DIGEST, f"{path} showed {len(content)} bytes that are wrong"
            time.sleep(0.0005)

    return fork(read)


def mapper(blob: Path) -> Child:
    """Has the blob mapped and reads it again and again: no byte may change, and none be lost (SIGBUS)."""

    def read() -> None:
        with blob.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            first = bytes(mapped)
            while True:
                assert mapped[:] == first
                time.sleep(0.0005)

    return fork(read)


def still_reading(child: Child) -> bool:
    """Whether it has not ended by itself."""
    pid, _ = os.waitpid(child.pid, os.WNOHANG)
    if pid:
        child.pid = 0
    return pid == 0


def check(root: Path, answered: set[str], *, kept: bool) -> None:
    """What readers see is right, and the next start knows each name that was answered for. `kept`: with its tree;
    otherwise it may have to ask for it again. Either way the same work then goes through and is whole."""
    assert broken_promises(root) == []
    store = open_store(root)
    refs = store.refs()
    assert (answered <= refs.keys(), leftovers(root), list(store.layout.ingests.iterdir())) == (True, [], [])
    if kept:
        assert (store.recovered.models_damaged, {name for name, ref in refs.items() if ref.placed}) == (0, answered)
    for name in NAMES:
        publish(store, name)
    whole(store)
    store.close()
    again = open_store(root)
    assert again.recovered.models_damaged == 0
    whole(again)
    again.close()


def whole(store: Store) -> None:
    """Every name has its tree, and the content is there once."""
    models = {name: store.layout.model(name) for name in store.refs()}
    assert {str(name): (path / "own").read_bytes() for name, path in models.items()} == {
        name: OWN + name.encode() for name in NAMES
    }
    blob = store.layout.blob(DIGEST)
    assert (blob.read_bytes() == SHARED, stat.S_IMODE(blob.stat().st_mode)) == (True, 0o444)
    inodes = {(path / "shared").stat().st_ino for path in models.values()}
    assert (inodes, blob.stat().st_nlink) == ({blob.stat().st_ino}, 1 + len(NAMES))
    assert broken_promises(store.layout.root) == []


@contextmanager
def watched(root: Path) -> Iterator[None]:
    """Readers that look on while the block runs, and must not have ended by themselves after it."""
    blob = Layout(root).blob(DIGEST)
    readers = [reader(root), *([mapper(blob)] if blob.exists() else [])]
    try:
        yield
        assert [still_reading(child) for child in readers] == [True] * len(readers)
    finally:
        for child in readers:
            child.kill()


@pytest.mark.parametrize("before", BEFORE)
def test_all_who_publish_one_content_at_once_succeed_over(
    without_flock: None, fresh: Callable[[], Path], before: str
) -> None:
    for _ in range(ROUNDS):
        root = fresh()
        BEFORE[before](Layout(root).blob(DIGEST))
        with watched(root):
            codes = race(*(partial(opened_before, root, name) for name in NAMES))
        if before in UNDAMAGED:
            assert codes == [DONE] * len(NAMES)
        check(root, answered(codes), kept=before in UNDAMAGED)


@pytest.mark.parametrize("before", BEFORE)
def test_starts_in_the_middle_of_a_race_cost_work_but_no_reader_and_no_name(
    without_flock: None, fresh: Callable[[], Path], before: str
) -> None:
    for _ in range(ROUNDS):
        root = fresh()
        BEFORE[before](Layout(root).blob(DIGEST))
        with watched(root):
            codes = race(*(partial(opened_in_the_race, root, name) for name in NAMES))
        check(root, answered(codes), kept=False)


def answered(codes: list[int]) -> set[str]:
    """The names whose process was done; the others were told what failed, and one at least came through."""
    assert DONE in codes
    assert set(codes) <= {DONE, REFUSED}
    return {name for name, code in zip(NAMES, codes, strict=True) if code == DONE}


@pytest.mark.parametrize("before", BEFORE)
def test_of_threads_that_find_one_damaged_blob_none_moves_the_successor_of_another(
    fresh: Callable[[], Path], before: str
) -> None:
    for _ in range(ROUNDS):
        root = fresh()
        BEFORE[before](Layout(root).blob(DIGEST))
        store = open_store(root)
        with watched(root), ThreadPoolExecutor(len(NAMES)) as pool:
            list(pool.map(partial(publish, store), NAMES))
        whole(store)
        assert len(list(store.layout.quarantine.iterdir())) == (before not in UNDAMAGED)
        store.close()


def test_of_many_who_open_a_root_at_once_one_gets_it_and_the_others_are_told(fresh: Callable[[], Path]) -> None:
    root = fresh()

    def opening() -> Work:
        return opened

    def opened() -> None:
        store = open_store(root)
        time.sleep(0.5)  # longer than the others need to be refused
        store.close()

    assert sorted(race(*[opening] * len(NAMES))) == [DONE, *[REFUSED] * (len(NAMES) - 1)]
    holder = open_store(root)
    with pytest.raises(Conflict, match=f"pid {os.getpid()}"):
        open_store(root)
    holder.close()
