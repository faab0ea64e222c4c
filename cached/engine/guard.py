"""Long-lived tasks, named and guarded: one that ends unexpectedly brings the process down with its reason."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from cached.errors import CachedError


class Guard:
    """Starts tasks that must never end by themselves."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` as the task `name` until `stop`."""
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or self._failed.done():
            return
        error = task.exception() or CachedError("it returned")
        failure = CachedError(f"the task {task.get_name()} ended unexpectedly: {error!r}", hint="this is a bug")
        failure.__cause__ = error
        self._failed.set_exception(failure)

    async def failed(self) -> None:
        """Wait for a task to end unexpectedly. Raises CachedError that names it; never returns."""
        await asyncio.shield(self._failed)

    async def stop(self) -> None:
        """Cancel every task and wait for it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._failed.done() and not self._failed.cancelled():
            self._failed.exception()
        self._failed.cancel()
