from __future__ import annotations

import asyncio
from typing import Any, cast

from cached.errors import Permanent
from cached.sources.base import Entry, Listing, Pin
from cached.transfer.filestate import FileJob, FileState, Tally, choose
from cached.transfer.pieces import Pieces, Range
from cached.transfer.pool import Worker
from cached.transfer.protocol import Done
from cached.types import Uri

PART = 4096
LANE, OTHER = (0, 0), (0, 1)
WORKER, STRANGER = cast(Worker, object()), cast(Worker, object())


def file(number: int, parts: int, *, order: int = 1, lag: int = 100 * PART, ranges: bool = True) -> FileState:
    entry = Entry(path=f"f{number}", size=parts * PART, pin=Pin(validator="v"), locator="")
    listing = Listing(uri=Uri("s3://b/m"), entries=(entry,), revision="", source_id="", rule="")
    job = FileJob(
        source=cast(Any, None),
        listing=listing,
        entry=entry,
        ingest=cast(Any, None),
        expected=None,
        order=order,
        tally=Tally(),
    )
    return FileState(
        number=number,
        job=job,
        hash_lag=lag,
        entry=entry,
        checksum_algorithm=None,
        pieces=Pieces(entry.size, PART if ranges else entry.size),
        finished=asyncio.get_running_loop().create_future(),
        ranges=ranges,
    )


def land(state: FileState, where: Range, *, digest: bool) -> None:
    if digest:
        state.fed(where.length)
    state.landed(where, Done(job=1, length=where.length, xxh3="0" * 32, checksum=None), now=0.0)
    state.in_flight -= 1


async def test_a_lane_stays_with_its_own_file_and_hashes_it_inline() -> None:
    mine, bigger = file(1, 3), file(2, 9)
    first = mine.take(LANE, WORKER)
    land(mine, first.range, digest=first.digest)
    assert choose([mine, bigger], LANE, 0.0) is mine
    assert [first.digest, mine.take(LANE, WORKER).digest] == [True, True]


async def test_a_free_lane_begins_the_largest_file_of_the_earliest_model() -> None:
    early_small, early_big, late = file(1, 2), file(2, 5), file(3, 50, order=2)
    assert choose([late, early_small, early_big], LANE, 0.0) is early_big


async def test_a_lane_without_a_file_of_its_own_helps_and_leaves_the_digests_to_a_follower() -> None:
    only = file(1, 4)
    own = only.take(LANE, WORKER)
    assert choose([only], OTHER, 0.0) is only
    helped = only.take(OTHER, WORKER)
    land(only, own.range, digest=own.digest)
    land(only, helped.range, digest=helped.digest)
    assert (helped.digest, only.hashable()) == (False, Range(PART, PART))


async def test_nobody_runs_further_ahead_of_the_digests_than_the_bound() -> None:
    only = file(1, 9, lag=2 * PART)
    gap = only.take(LANE, STRANGER)
    only.digest_worker = WORKER
    for _ in range(3):
        land(only, only.take(OTHER, STRANGER).range, digest=False)
    assert not only.fetchable(0.0)
    only.pieces.give_back(gap.range)
    assert only.fetchable(0.0), "the first missing part is always wanted, or the digests could never go on"


async def test_a_file_that_waits_for_its_retry_is_left_alone_until_then() -> None:
    waiting = file(1, 2)
    waiting.not_before = 5.0
    assert (choose([waiting], LANE, 4.0), choose([waiting], LANE, 5.0)) == (None, waiting)


async def test_a_stream_is_never_shared_between_lanes() -> None:
    stream = file(1, 4, ranges=False)
    take = stream.take(LANE, WORKER)
    assert (take.range, take.ranged, choose([stream], OTHER, 0.0)) == (Range(0, 4 * PART), False, None)


async def test_a_file_that_begins_again_forgets_everything_it_had() -> None:
    state = file(1, 3)
    take = state.take(LANE, WORKER)
    land(state, take.range, digest=take.digest)
    state.wipe()
    assert (state.pieces.placed_bytes, state.digest_at, state.records, state.job.tally.done) == (0, 0, {}, 0)
    assert state.take(LANE, WORKER).ranged is False


async def test_progress_counts_live_bytes_and_forgets_those_of_a_part_that_failed() -> None:
    state = file(1, 2)
    state.moved(7, 1000)
    live = state.job.tally.done
    state.ended(7, 0)
    assert (live, state.job.tally.done, state.job.tally.fetched) == (1000, 0, 1000)


async def test_the_first_error_is_the_one_that_counts() -> None:
    state = file(1, 1)
    state.fail(Permanent("first"))
    state.fail(Permanent("second"))
    assert (str(state.finished.exception()), state.over) == ("first", True)


async def test_a_file_is_whole_only_when_its_digests_are_too() -> None:
    state = file(1, 1)
    take = state.take(LANE, WORKER)
    state.feeding = False
    state.landed(take.range, Done(job=1, length=PART, xxh3="0" * 32, checksum=None), now=0.0)
    state.in_flight -= 1
    before = state.whole
    state.fed(PART)
    assert (before, state.whole) == (False, True)


async def test_a_file_that_waits_for_a_lane_is_not_blamed_for_standing_still() -> None:
    waiting, busy, resting = file(1, 2), file(2, 2), file(3, 2)
    busy.take(LANE, WORKER)
    resting.take(LANE, WORKER)
    resting.in_flight -= 1
    resting.not_before = 5.0
    resting.feeding = False
    assert [each.idle(4.0) for each in (waiting, busy, resting)] == [True, False, False]
