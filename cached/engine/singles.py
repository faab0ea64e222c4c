"""One owner at a time for each ingest: two models that share an object fetch it once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from cached.types import IngestKey


class Singles:
    """A lock a key, kept only while somebody holds or awaits it."""

    def __init__(self) -> None:
        self._locks: dict[IngestKey, tuple[asyncio.Lock, int]] = {}

    @contextlib.asynccontextmanager
    async def alone(self, key: IngestKey) -> AsyncIterator[bool]:
        """Be the only owner of `key`. Yields whether somebody else owned it meanwhile."""
        lock, users = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = (lock, users + 1)
        waited = lock.locked()
        try:
            async with lock:
                yield waited
        finally:
            _, users = self._locks[key]
            if users == 1:
                del self._locks[key]
            else:
                self._locks[key] = (lock, users - 1)
