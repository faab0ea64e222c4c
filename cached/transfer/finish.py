"""The end of a file's fetch: close it in the workers, take its digests, hold them against the promises."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import cast

from cached.errors import CachedError
from cached.sources.base import Entry
from cached.store.records import PartRecord
from cached.transfer import retry
from cached.transfer.digests import combine, to_base64
from cached.transfer.filestate import FileState
from cached.transfer.pool import Pool, Worker, WorkerLostError
from cached.transfer.proof import Measured, judge
from cached.transfer.protocol import Checksum, Close, Closed, Done, Failed, Hash
from cached.types import Digest, Level


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file whose bytes are in its ingest and proved to `level`."""

    digest: Digest
    level: Level
    entry: Entry
    """As confirmed by the answers: what the source said of the object while its bytes came."""


async def finish(state: FileState, pool: Pool) -> Fetched:
    """Prove a file that is whole. Raises Corrupt; WorkerLostError when its running digests are gone."""
    checksum = await _checksum(state, pool)
    digests = await _digests(state, pool)
    measured = Measured(sha256=Digest(digests["sha256"]), md5=digests.get("md5"), checksum=checksum)
    level = judge(state.entry, measured, expected=state.job.expected)
    return Fetched(measured.sha256, level, state.entry)


async def _digests(state: FileState, pool: Pool) -> dict[str, str]:
    if state.entry.size == 0:
        return {"sha256": hashlib.sha256().hexdigest(), "md5": hashlib.md5(usedforsecurity=False).hexdigest()}
    if state.digest_worker is None:
        raise WorkerLostError
    answer = await _close(state, state.digest_worker, pool)
    if answer.covered != state.entry.size:
        raise CachedError(f"the digests of {state.what} cover {answer.covered} of {state.entry.size} bytes")
    return answer.digests


async def _close(state: FileState, worker: Worker, pool: Pool) -> Closed:
    state.opened.discard(worker)
    answer = await worker.call(Close(job=pool.next_job(), file=state.number))
    assert isinstance(answer, Closed)
    return answer


async def release(state: FileState, pool: Pool) -> None:
    """Close the file wherever it is still open; a worker that died has closed it already."""
    for worker in tuple(state.opened):
        try:
            await _close(state, worker, pool)
        except WorkerLostError:
            continue


async def _checksum(state: FileState, pool: Pool) -> str | None:
    """The file's checksum in the source's own form, if the source promised one that nothing stronger replaces."""
    if state.entry.checksum is None or state.entry.size == 0:
        return None
    algorithm = cast(Checksum, state.entry.checksum[0])
    if algorithm == state.checksum_algorithm:
        value = _combined(algorithm, sorted(state.records.values(), key=lambda each: each.offset))
    elif state.entry.md5 is not None:
        return None
    else:
        value = await _read_checksum(state, algorithm, pool)
    return to_base64(algorithm, value)


def _combined(algorithm: Checksum, records: list[PartRecord]) -> int:
    value = 0
    for index, record in enumerate(records):
        assert record.checksum is not None
        value = combine(algorithm, value, record.checksum, record.length) if index else record.checksum
    return value


async def _read_checksum(state: FileState, algorithm: Checksum, pool: Pool) -> int:
    """Only the payload's answer told of a checksum, so nobody computed it on the way: read the file once more."""
    if state.digest_worker is None:
        raise WorkerLostError
    answer = await state.digest_worker.call(
        Hash(
            job=pool.next_job(),
            lane=0,
            file=state.number,
            offset=0,
            length=state.entry.size,
            digest=False,
            checksum=algorithm,
        )
    )
    if isinstance(answer, Failed):
        raise retry.disk_error(answer.errno, state.what)
    assert isinstance(answer, Done)
    assert answer.checksum is not None
    return answer.checksum
