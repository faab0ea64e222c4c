"""What is said of a model, from its ref and its download if one is active. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from cached.api.types import FileView, ModelView
from cached.engine.key import model_key
from cached.engine.progress import Progress
from cached.store.records import Manifest, Placed, Ref
from cached.types import Level, State, Uri


def is_placed(ref: Ref) -> bool:
    """Whether the name points to what it is wanted to be."""
    return ref.placed is not None and ref.placed.key == model_key(ref.want)


def view_of(ref: Ref, *, path: str, bytes_total: int, progress: Progress | None, running: bool) -> ModelView:
    """The model `ref` as the API shows it. `progress` is that of its active download, None without one;
    `running` says that it has left the queue. `bytes_total` is the size of its placed tree.
    """
    base = ModelView(name=ref.name, uri=Uri(ref.want.uri.shown), state=State.QUEUED, path=path, updated=ref.asked)
    if progress is not None:
        return _downloading(base, progress, running=running)
    if is_placed(ref):
        assert ref.placed is not None
        return _ready(base, ref.placed, bytes_total)
    if ref.failure is not None:
        return replace(
            base,
            state=State.FAILED,
            reason=ref.failure.code,
            message=ref.failure.message,
            hint=ref.failure.hint,
            updated=ref.failure.at,
        )
    return base


def _downloading(base: ModelView, progress: Progress, *, running: bool) -> ModelView:
    return replace(
        base,
        state=State.DOWNLOADING if running else State.QUEUED,
        revision=progress.revision,
        bytes_total=progress.total,
        bytes_done=progress.done,
        bytes_fetched=progress.fetched,
        bytes_reused=progress.reused,
        files_total=len(progress.files),
        files_done=progress.files_done,
        notes=progress.notes,
    )


def _ready(base: ModelView, placed: Placed, bytes_total: int) -> ModelView:
    return replace(
        base,
        state=State.READY,
        revision=placed.revision,
        tree=placed.tree,
        verified=weakest(placed.levels),
        bytes_total=bytes_total,
        bytes_done=bytes_total,
        bytes_fetched=placed.bytes_fetched,
        bytes_reused=placed.bytes_reused,
        files_total=len(placed.levels),
        files_done=len(placed.levels),
        updated=placed.at,
        notes=placed.notes,
    )


def weakest(levels: dict[str, Level]) -> Level:
    """The level of a model: that of its weakest file."""
    return max(levels.values(), key=lambda level: level.rank, default=Level.DIGEST)


def files_of(manifest: Manifest, placed: Placed) -> tuple[FileView, ...]:
    """The files of a model in place."""
    return tuple(
        FileView(path=each.path, size=each.size, done=each.size, verified=placed.levels.get(each.path))
        for each in manifest.files
    )
