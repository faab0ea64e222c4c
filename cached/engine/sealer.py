"""Group commit: files that are whole at the same time become blobs together.

Each durable publication costs a wait for the disk. While one group waits, the next one gathers, so many small
files share few waits and a single file waits for nobody. What comes with a blob, its aliases, is written by the
same thread: sixteen threads that create files in one folder spin on its lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from cached import blocking
from cached.errors import CachedError
from cached.store.ingest import Ingest
from cached.store.store import Store
from cached.types import Digest

GROUP_MAX = 256

Identity = tuple[str, str, str]
"""An alias of a blob: (source rule, kind, value)."""


@dataclass(frozen=True, slots=True)
class _Item:
    ingest: Ingest
    digest: Digest
    aliases: Sequence[Identity]
    done: asyncio.Future[None]


class Sealer:
    """Seals ingests into blobs (steps 4 to 6 of the commit protocol). `run` must be running."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: asyncio.Queue[_Item] = asyncio.Queue()

    async def seal(self, ingest: Ingest, digest: Digest, aliases: Sequence[Identity]) -> None:
        """Make the ingest's bytes the blob `digest`, durably, and remember its upstream identities.

        Raises CachedError. It ends even if its caller is cancelled: the caller waits for it, so that nobody
        closes a file that is being sealed.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait(_Item(ingest, digest, aliases, done))
        try:
            await asyncio.shield(done)
        except asyncio.CancelledError:
            await asyncio.wait([done])
            if not done.cancelled():
                done.exception()
            raise

    async def run(self) -> None:
        """Seal group after group, for ever."""
        while True:
            group = [await self._queue.get()]
            while len(group) < GROUP_MAX and not self._queue.empty():
                group.append(self._queue.get_nowait())
            try:
                await self._seal(group)
            except BaseException:
                self._give_up(group)
                raise

    def _give_up(self, group: list[_Item]) -> None:
        """Nobody seals any more: whoever waits for it is told, and does not hold up the stop."""
        while not self._queue.empty():
            group.append(self._queue.get_nowait())
        for item in group:
            if not item.done.done():
                item.done.set_exception(CachedError("the sealer has ended", hint=_LOG))

    async def _seal(self, group: Sequence[_Item]) -> None:
        try:
            await blocking.run(self._commit, group)
        except CachedError as error:
            if len(group) > 1:  # one bad file must not fail its neighbours
                for item in group:
                    await self._seal([item])
            else:
                group[0].done.set_exception(error)
        else:
            for item in group:
                item.done.set_result(None)

    def _commit(self, group: Sequence[_Item]) -> None:
        self._store.seal([(item.ingest, item.digest) for item in group if not item.ingest.spent])
        for item in group:
            if self._store.blob_size(item.digest) != item.ingest.size:  # spent in a group that failed
                raise CachedError(f"{item.ingest.path} could not be made durable", hint=_LOG)
            for rule, kind, value in item.aliases:
                self._store.remember_alias(rule, kind, value, item.ingest.size, item.digest)


_LOG = "look at the kernel's log: the cache's disk reports errors"
