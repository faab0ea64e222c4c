"""What an earlier life of the daemon left behind is checked, never believed and never waited for.

Complete partials: huggingface_hub#2197. Interrupted snapshots: tt-inference-server#4986. Lock files of dead
processes: huggingface_hub#2543. Damaged entries: borg#10397. Strangers in the root: kserve, read in its source.
"""

from __future__ import annotations

import os
from pathlib import Path

import xxhash

from cached.clock import SystemClock
from cached.sources.base import Listing
from cached.store.records import PartRecord
from cached.types import State, Uri
from tests.helpers.hostile import Op, Synthetic
from tests.helpers.rig import PART, Rig, files_of, inode, names_in
from tests.unit.store.making import open_store

SIZE = 8 * PART
DATA = Synthetic(SIZE, "bkt/big").read(0, SIZE)


async def leave_partial(rig: Rig, data: bytes) -> None:
    """Stop the engine, and leave the object's partial with all of `data` journaled, as a kill does."""
    _, listing = await rig.engine._sources.resolve(Uri("s3://bkt/big"))
    await rig.engine.stop()
    write_partial(rig.layout.root, listing, data)


def write_partial(root: Path, listing: Listing, data: bytes) -> None:
    store = open_store(root, clock=SystemClock())
    entry = listing.entries[0]
    ingest = store.begin_ingest(listing.source_id, entry.pin.validator, entry.size, resumable=True)
    with ingest.path.open("r+b") as file:
        file.write(data)
    sums = [xxhash.xxh3_128_hexdigest(DATA[at : at + PART]) for at in range(0, SIZE, PART)]
    ingest.journal([PartRecord(offset=n * PART, length=PART, xxh3=value) for n, value in enumerate(sums)])
    ingest.close()
    store.close(clean=False)


async def test_a_partial_that_is_complete_is_published_without_a_byte_more(rig: Rig) -> None:
    """huggingface_hub#2197: the resume asked for a range behind the end and failed on the 416."""
    rig.server.put("bkt/big", SIZE)
    await leave_partial(rig, DATA)
    await rig.begin()
    assert await rig.ready("s3://bkt/big") == {"big": DATA}
    assert rig.server.asked("bkt/big") == []


async def test_a_journaled_part_whose_bytes_are_not_there_is_fetched_again(rig: Rig) -> None:
    """A journal is a claim; each part is read back before it counts."""
    rig.server.put("bkt/big", SIZE)
    await leave_partial(rig, DATA[: 3 * PART] + bytes(PART) + DATA[4 * PART :])
    await rig.begin()
    assert await rig.ready("s3://bkt/big") == {"big": DATA}
    assert [request.range for request in rig.server.asked("bkt/big")] == [f"bytes={3 * PART}-{4 * PART - 1}"]


async def test_an_interrupted_tree_is_never_taken_as_complete(rig: Rig) -> None:
    """tt-inference-server#4986: a folder that exists was taken for a finished download."""
    rig.server.put("bkt/m/one", b"1")
    rig.server.put("bkt/m/two", b"2")
    staging = rig.layout.trees / ".staging-0123456789abcdef"
    staging.mkdir()
    (staging / "one").write_bytes(b"1")
    await rig.restart()
    assert names_in(rig.layout.trees) == []
    assert await rig.ready("s3://bkt/m") == {"one": b"1", "two": b"2"}


def lose(tree: Path, name: str) -> None:
    tree.chmod(0o755)
    (tree / name).unlink()


async def test_a_published_tree_that_lost_a_file_is_fetched_again(rig: Rig) -> None:
    """tt-inference-server#4986, after publication."""
    rig.server.put("bkt/m/one", b"1")
    rig.server.put("bkt/m/two", b"2")
    view = await rig.prefetch("s3://bkt/m")
    lose(Path(view.path), "one")
    await rig.restart()
    assert files_of(await rig.engine.wait(view.name)) == {"one": b"1", "two": b"2"}


async def test_the_lock_file_of_a_dead_process_is_no_wait(rig: Rig) -> None:
    """huggingface_hub#2543: a lock file outlived its process and every later download waited for it."""
    await rig.engine.stop()
    rig.layout.lock.write_text('{"pid": 1}')
    await rig.begin()
    assert rig.engine.status().ready


async def test_a_truncated_blob_is_a_miss_and_nothing_is_written_upstream(rig: Rig) -> None:
    """borg#10397: a damaged local entry was believed, and the damage spread to the repository."""
    rig.server.put("bkt/m/big", DATA)
    view = await rig.prefetch("s3://bkt/m")
    file = Path(view.path, "big")
    before = inode(file)
    os.truncate(file, 100)
    await rig.restart()
    healed = await rig.engine.wait(view.name)
    assert (healed.state, files_of(healed)) == (State.READY, {"big": DATA})
    assert inode(file) != before
    assert {request.op for request in rig.server.requests} <= {Op.GET, Op.HEAD, Op.LIST}


async def test_a_damaged_alias_or_index_is_a_miss(rig: Rig) -> None:
    """borg#10397."""
    rig.server.put("bkt/m/big", DATA)
    rig.server.put("bkt/n/big", DATA)
    await rig.prefetch("s3://bkt/m")
    await rig.engine.stop()
    for path in (rig.layout.index, *rig.layout.aliases.iterdir()):
        path.write_bytes(b"{ not what it was")
    await rig.begin()
    assert await rig.ready("s3://bkt/n") == {"big": DATA}


async def test_strangers_in_the_root_are_left_alone(rig: Rig) -> None:
    """KServe's agent, read in source: it deleted every folder of the model root that it did not know."""
    for name in ("lost+found", "somebody", "trees/somebody", "ingest/lost+found", "models/somebody"):
        folder = rig.layout.root / name
        folder.mkdir()
        (folder / "file").write_bytes(b"mine")
    rig.server.put("bkt/m/one", b"1")
    view = await rig.prefetch("s3://bkt/m")
    await rig.restart()
    await rig.engine.remove(view.name)
    await rig.restart()
    for name in ("lost+found", "somebody", "trees/somebody", "ingest/lost+found", "models/somebody"):
        assert (rig.layout.root / name / "file").read_bytes() == b"mine"
