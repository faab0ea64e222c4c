"""Group commit: files that are whole at the same time become blobs together.

Each durable publication costs a wait for the disk. While one group waits, the next one gathers, so many small
files share few waits and a single file waits for nobody.
"""

from __future__ import annotations

import asyncio

from cached import blocking
from cached.errors import CachedError
from cached.store.ingest import Ingest
from cached.store.store import Store
from cached.types import Digest

GROUP_MAX = 256

Item = tuple[Ingest, Digest, "asyncio.Future[None]"]


class Sealer:
    """Seals ingests into blobs (steps 4 to 6 of the commit protocol). `run` must be running."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: asyncio.Queue[Item] = asyncio.Queue()

    async def seal(self, ingest: Ingest, digest: Digest) -> None:
        """Make the ingest's bytes the blob `digest`, durably. Raises CachedError. It ends even if its caller is
        cancelled: the caller waits for it, so that nobody closes a file that is being sealed.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((ingest, digest, done))
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
            await self._seal(group)

    async def _seal(self, group: list[Item]) -> None:
        try:
            await blocking.run(self._store.seal, [(ingest, digest) for ingest, digest, _ in group])
        except CachedError as error:
            if len(group) > 1:  # one bad file must not fail its neighbours
                for item in group:
                    await self._seal([item])
            else:
                group[0][2].set_exception(error)
        else:
            for _, _, done in group:
                done.set_result(None)
