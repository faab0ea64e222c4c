"""Downloads in flight, single-flight by model key: a second want for the same content joins the first.

A download lives as long as a name demands it. It runs when one of `Config.transfer.models` places is free, in
order of arrival, and tells its end to the engine, which records it for each name.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cached.api.types import Want
from cached.engine.obtain import Ask, Obtained, Tools, obtain
from cached.engine.progress import Progress
from cached.errors import CachedError
from cached.types import Digest, ModelKey, ModelName


@dataclass(slots=True, eq=False)
class Download:
    """One download: what for, how far, and for whom."""

    key: ModelKey
    order: int
    wants: dict[ModelName, Want]
    progress: Progress = field(default_factory=Progress)
    running: bool = False
    task: asyncio.Task[None] | None = None

    def expected(self) -> dict[str, Digest]:
        """The sha256 that its wants ask for, by path, where they agree."""
        merged: dict[str, Digest] = {}
        disputed: set[str] = set()
        for want in self.wants.values():
            for path, digest in want.sha256.items():
                if merged.setdefault(path, digest) != digest:
                    disputed.add(path)
        return {path: digest for path, digest in merged.items() if path not in disputed}


Commit = Callable[[Download, Obtained], Awaitable[None]]
Failed = Callable[[Download, CachedError], Awaitable[None]]


class Downloads:
    """See the module. `commit` and `failed` are the engine's."""

    def __init__(self, tools: Tools, *, commit: Commit, failed: Failed) -> None:
        self._tools = tools
        self._commit = commit
        self._failed = failed
        self._places = asyncio.Semaphore(tools.config.transfer.models)
        self._orders = itertools.count(1)
        self._active: dict[ModelKey, Download] = {}
        self._fetched_before = 0
        self.started = 0

    @property
    def fetched(self) -> int:
        """Payload bytes fetched since the start."""
        return self._fetched_before + sum(each.progress.fetched for each in self._active.values())

    def get(self, key: ModelKey) -> Download | None:
        """The download of that key, if one is active."""
        return self._active.get(key)

    def __len__(self) -> int:
        return len(self._active)

    def demand(self, key: ModelKey, name: ModelName, want: Want) -> None:
        """`name` wants this: join the download of that key, or begin it."""
        download = self._active.get(key)
        if download is not None:
            download.wants[name] = want
            return
        download = Download(key, next(self._orders), {name: want})
        self._active[key] = download
        download.task = asyncio.create_task(self._run(download, want), name=f"download-{key[:12]}")

    async def withdraw(self, key: ModelKey, name: ModelName) -> None:
        """`name` no longer wants it. The last one to leave cancels it and waits until its lanes are free."""
        download = self._active.get(key)
        if download is None:
            return
        download.wants.pop(name, None)
        if not download.wants:
            await self._cancel(download)

    def end(self, download: Download) -> None:
        """It takes no more names: its end is being recorded, or it was cancelled."""
        if self._active.get(download.key) is download:
            self._fetched_before += download.progress.fetched
            del self._active[download.key]

    async def stop(self) -> None:
        """Cancel all; what arrived is kept for a resume."""
        await asyncio.gather(*(self._cancel(each) for each in list(self._active.values())))

    async def _cancel(self, download: Download) -> None:
        assert download.task is not None
        download.task.cancel()
        await asyncio.wait([download.task])
        self.end(download)  # a task that never got to its first step has not done so itself

    async def _run(self, download: Download, want: Want) -> None:
        try:
            async with self._places:
                download.running = True
                self.started += 1
                await self._obtain(download, want)
        finally:
            self.end(download)

    async def _obtain(self, download: Download, want: Want) -> None:
        ask = Ask(
            uri=want.uri,
            allow=want.allow,
            ignore=want.ignore,
            expected=download.expected(),
            order=download.order,
            withdrawn=lambda: not download.wants,
        )
        try:
            await obtain(self._tools, ask, download.progress, lambda found: self._commit(download, found))
        except CachedError as error:
            await self._failed(download, error)
        except Exception as error:  # a bug must not leave its names waiting for ever
            await self._failed(download, CachedError(f"unexpected: {error!r}", hint="this is a bug; see the log"))
            raise
