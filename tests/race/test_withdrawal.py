"""What happens to a download when the names that demand it come and go."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from cached.api.types import Want
from cached.config import Seconds, Timeouts
from cached.engine.engine import Engine
from cached.errors import Code, Conflict, Corrupt, InsufficientSpace, NotFound
from cached.store.records import Ref
from cached.types import Digest, ModelName, State, Uri
from tests.helpers.hostile import Hostile, Synthetic
from tests.helpers.hostile.faults import Cut, Mute, Stall
from tests.helpers.rig import PART, Rig, config_for

SIZE = 8 * PART
DATA = Synthetic(SIZE, "bkt/other").read(0, SIZE)
PATIENT = Timeouts(first_byte=Seconds(60), stall_window=Seconds(60), no_progress=Seconds(600))
M, N = ModelName("m"), ModelName("n")
BIG = Uri("s3://bkt/big")


async def begun(rig: Rig) -> None:
    """Every lane waits for the server."""
    while len(rig.server.asked("bkt/big")) < rig.config.transfer.connections:  # noqa: ASYNC110  the server's thread
        await asyncio.sleep(0.01)


@pytest.fixture
def stuck(hostile: Hostile) -> Hostile:
    """A server that answers nothing, or nothing more, of one object, with a client that would wait for a minute."""
    hostile.put("bkt/big", SIZE)
    hostile.put("bkt/other", SIZE)
    hostile.misbehave("bkt/big", Stall(after=5000), times=2)
    hostile.misbehave("bkt/big", Mute(), times=2, skip=2)
    return hostile


async def test_a_name_that_is_removed_leaves_a_stuck_server_at_once(stuck: Hostile, tmp_path: Path) -> None:
    rig = await Rig.start(stuck, config_for(tmp_path / "root", stuck, timeouts=PATIENT))
    try:
        await rig.engine.submit(Want(uri=BIG, name=M))
        await begun(rig)
        began = time.monotonic()
        await rig.engine.remove(M)
        assert time.monotonic() - began < 5
        assert rig.left_behind() == []
        assert await rig.ready("s3://bkt/other") == {"other": DATA}, "the lanes are free"
    finally:
        await rig.engine.stop()


async def test_a_download_lives_as_long_as_one_name_wants_it(stuck: Hostile, tmp_path: Path) -> None:
    rig = await Rig.start(stuck, config_for(tmp_path / "root", stuck))
    try:
        for name in (M, N):
            await rig.engine.submit(Want(uri=BIG, name=name))
        await begun(rig)
        await rig.engine.remove(M)
        assert (await rig.engine.wait(N)).state is State.READY
        with pytest.raises(NotFound):
            rig.engine.model(M)
        assert rig.engine.counters.downloads_started == 1
    finally:
        await rig.engine.stop()


async def test_waiting_for_a_name_ends_when_it_is_removed(stuck: Hostile, tmp_path: Path) -> None:
    rig = await Rig.start(stuck, config_for(tmp_path / "root", stuck, timeouts=PATIENT))
    try:
        await rig.engine.submit(Want(uri=BIG, name=M))
        waiting = asyncio.create_task(rig.engine.wait(M))
        events = [event async for event in _until_removed(rig.engine)]
        with pytest.raises(NotFound):
            await waiting
        assert [event.removed for event in events] == [*([False] * (len(events) - 1)), True]
    finally:
        await rig.engine.stop()


async def _until_removed(engine: Engine):  # type: ignore[no-untyped-def]  # noqa: ANN202
    async for event in engine.events(M):
        yield event
        if not event.removed and event.model.bytes_total:
            await engine.remove(M)


async def test_a_name_in_use_is_refused_another_uri_and_moves_when_asked(hostile: Hostile, tmp_path: Path) -> None:
    rig = await Rig.start(hostile, config_for(tmp_path / "root", hostile))
    try:
        hostile.put("bkt/v1/w", 1000)
        hostile.put("bkt/v2/w", 2000)
        old = await rig.prefetch("s3://bkt/v1", name="m")
        with pytest.raises(Conflict, match="s3://bkt/v1"):
            await rig.engine.submit(Want(uri=Uri("s3://bkt/v2"), name=M))
        await rig.engine.submit(Want(uri=Uri("s3://bkt/v2"), name=M), move=True)
        new = await rig.engine.wait(M)
        layout = rig.layout
        assert (old.tree != new.tree, layout.model(M).resolve().name) == (True, new.tree)
        assert old.tree is not None
        hostile.put("bkt/third/w", 4000)
        await rig.prefetch("s3://bkt/third", name="n")
        assert (await rig.engine.remove(N)).bytes_freed == 4000
        assert layout.tree(old.tree).is_dir(), "a container that started before still reads it"
        assert (await rig.engine.remove(M)).bytes_freed == 3000
    finally:
        await rig.engine.stop()


async def test_a_refused_move_leaves_the_old_download_running(stuck: Hostile, tmp_path: Path) -> None:
    rig = await Rig.start(stuck, config_for(tmp_path / "root", stuck))
    try:
        stuck.put("bkt/v2/w", 2000)
        await rig.prefetch("s3://bkt/v2", name="n")
        await rig.engine.submit(Want(uri=BIG, name=M))
        await begun(rig)
        wrong = Want(uri=Uri("s3://bkt/v2"), name=M, sha256={"w": Digest("0" * 64)})
        with pytest.raises(Corrupt):
            await rig.engine.submit(wrong, move=True)
        view = await rig.engine.wait(M)
        assert (view.uri, view.state) == (BIG, State.READY)
    finally:
        await rig.engine.stop()


async def test_a_failure_that_cannot_be_written_is_told_all_the_same(
    hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = await Rig.start(hostile, config_for(tmp_path / "root", hostile))
    try:
        hostile.put("bkt/elsewhere", 10)
        store = rig.engine.store
        put_ref = store.put_ref

        def full(ref: Ref) -> None:
            if ref.failure is not None:
                raise InsufficientSpace("the disk is full")
            put_ref(ref)

        monkeypatch.setattr(store, "put_ref", full)
        view = await rig.prefetch("s3://bkt/missing", name="m")
        assert (view.state, view.reason) == (State.FAILED, Code.NOT_FOUND)
        hostile.put("bkt/missing", 10)
        assert (await rig.prefetch("s3://bkt/missing", name="m")).state is State.READY
    finally:
        await rig.engine.stop()


async def test_a_query_that_may_hold_a_signature_is_not_told(hostile: Hostile, tmp_path: Path) -> None:
    rig = await Rig.start(hostile, config_for(tmp_path / "root", hostile))
    try:
        hostile.put_file("h/w.bin", b"w")
        signed = f"{hostile.url}/h/w.bin?X-Signature=secret"
        view = await rig.prefetch(signed, name="m")
        with pytest.raises(Conflict) as caught:
            await rig.engine.submit(Want(uri=Uri("s3://bkt/v2"), name=M))
        told = [view.uri, str(caught.value), str(caught.value.details)]
        assert [word for word in told if "secret" in word] == []
        assert (await rig.prefetch(signed, name="m")).state is State.READY
    finally:
        await rig.engine.stop()


async def test_a_failed_download_that_got_nothing_keeps_nothing(hostile: Hostile, tmp_path: Path) -> None:
    rig = await Rig.start(hostile, config_for(tmp_path / "root", hostile))
    try:
        hostile.put("bkt/big", SIZE)
        hostile.misbehave("bkt/big", Cut(after=0), times=None)
        assert (await rig.prefetch(BIG, name="m")).state is State.FAILED
        assert rig.left_behind() == []
    finally:
        await rig.engine.stop()


async def test_what_a_failed_download_keeps_goes_with_its_name(hostile: Hostile, tmp_path: Path) -> None:
    rig = await Rig.start(hostile, config_for(tmp_path / "root", hostile))
    try:
        hostile.put("bkt/big", SIZE)
        hostile.misbehave("bkt/big", Cut(after=0), times=None, skip=4)
        assert (await rig.prefetch("s3://bkt/missing", name="n")).state is State.FAILED
        assert (await rig.prefetch(BIG, name="m")).state is State.FAILED
        assert rig.engine.status().bytes_partial == SIZE
        assert (await rig.engine.remove(M)).bytes_freed == SIZE
        assert rig.left_behind() == []
    finally:
        await rig.engine.stop()
