"""A cache engine against one hostile server: what every replay of a report drives.

Waits are about a hundredth of the defaults, parts are small, so that a megabyte is many parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cached.api.types import ModelView, Want
from cached.clock import Clock
from cached.config import Bytes, Config, Seconds, Source, Timeouts, Transfer
from cached.engine.engine import Engine
from cached.layout import Layout
from cached.types import Digest, Level, ModelName, State, Uri
from tests.helpers.hostile import Hostile

PART = 64 << 10
TIMEOUTS = Timeouts(
    connect=Seconds(1),
    first_byte=Seconds(1),
    stall_window=Seconds(0.3),
    stall_floor=Bytes(64 << 10),
    no_progress=Seconds(6),
    retry_base=Seconds(0.002),
    retry_cap=Seconds(0.2),
)
TRANSFER = Transfer(part=Bytes(PART), window=Bytes(4 * PART), window_time=Seconds(0.1))


def sources(server: Hostile) -> tuple[Source, ...]:
    """Every s3:// URI, and every URL of the server itself."""
    ca_file = str(server.ca_file) if server.ca_file else None
    return (
        Source(prefix="s3://", endpoint=server.url, ca_file=ca_file),
        Source(prefix=f"{server.url}/", ca_file=ca_file),
    )


def config_for(
    root: Path,
    server: Hostile,
    *,
    timeouts: Timeouts = TIMEOUTS,
    transfer: Transfer = TRANSFER,
    rules: tuple[Source, ...] | None = None,
) -> Config:
    """Settings for an engine on `root` that reaches nothing but `server`."""
    return Config(
        root=str(root),
        sources=sources(server) if rules is None else rules,
        timeouts=timeouts,
        transfer=transfer,
    )


@dataclass(slots=True)
class Rig:
    """An engine that runs, and the server it fetches from."""

    server: Hostile
    config: Config
    engine: Engine

    @classmethod
    async def start(cls, server: Hostile, config: Config, *, clock: Clock | None = None) -> Rig:
        return cls(server, config, await Engine.start(config, clock=clock))

    @property
    def layout(self) -> Layout:
        return Layout(Path(self.config.root))

    async def prefetch(
        self,
        uri: str,
        *,
        name: str | None = None,
        sha256: dict[str, str] | None = None,
        ignore: tuple[str, ...] = (),
    ) -> ModelView:
        """Ask for `uri` and wait until it is Ready or Failed."""
        digests = {path: Digest(value) for path, value in (sha256 or {}).items()}
        want = Want(uri=Uri(uri), name=ModelName(name) if name else None, sha256=digests, ignore=ignore)
        return await self.engine.wait((await self.engine.submit(want)).name)

    async def ready(self, uri: str, *, name: str | None = None, ignore: tuple[str, ...] = ()) -> dict[str, bytes]:
        """The files of `uri` by path, once it is Ready; anything else fails the test with its reason."""
        view = await self.prefetch(uri, name=name, ignore=ignore)
        assert (view.state, view.message) == (State.READY, "")
        return files_of(view)

    async def refused(self, uri: str, *, sha256: dict[str, str] | None = None) -> ModelView:
        """The view of `uri` once it Failed; then nothing of it may be left."""
        view = await self.prefetch(uri, sha256=sha256)
        assert view.state is State.FAILED
        assert view.hint
        assert self.left_behind() == []
        return view

    def level(self, view: ModelView, path: str) -> Level | None:
        """How well one file was proved."""
        return {file.path: file.verified for file in self.engine.model(view.name).files}[path]

    def left_behind(self) -> list[str]:
        """Everything that is published, or allocated and not published."""
        layout = self.layout
        found = [entry for folder in (layout.models, layout.trees, layout.ingests) for entry in folder.iterdir()]
        return sorted(str(entry.relative_to(layout.root)) for entry in found)

    async def begin(self) -> None:
        """Start an engine on the root of the one that was stopped."""
        self.engine = await Engine.start(self.config)

    async def restart(self) -> None:
        """Stop the engine in order and start another one on the same root."""
        await self.engine.stop()
        await self.begin()


def files_of(view: ModelView) -> dict[str, bytes]:
    """What a reader finds in the published folder."""
    root = Path(view.path)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def inode(path: Path) -> int:
    """The number of the inode a path leads to."""
    return path.stat().st_ino


def names_in(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(path.name for path in folder.iterdir())
