"""Live bars on a terminal: one in all, and one a file for those that are moving. Loads rich; import it late."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cached import human
from cached.api.types import FileView, ModelView
from cached.cli.pace import Pace
from cached.cli.report import tempo, totals

ROWS = 10
"""Files shown at a time: a model may have thousands, a screen has 24 lines."""
BAR = 30
"""Characters."""


class Bars:
    """A `Report` that redraws itself, also while no event comes, so that a stall shows."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._pace = Pace()
        self._shown: tuple[ModelView, tuple[FileView, ...]] | None = None
        self._away = False
        self._live = Live(get_renderable=self._picture, console=self._console, refresh_per_second=5, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, value, trace)

    def show(self, model: ModelView, files: dict[str, FileView]) -> None:
        """See `Report.show`."""
        self._pace.add(time.monotonic(), model.bytes_fetched)
        self._away = False
        self._shown = (model, moving(files, min(ROWS, self._console.height - 4)))

    def away(self) -> None:
        """See `Report.away`."""
        self._away = True

    def _picture(self) -> RenderableType:
        """Called from the thread that redraws: it reads what `show` put there whole."""
        if self._shown is None:
            return Text("")
        model, files = self._shown
        parts: list[RenderableType] = [_headline(model, self._pace, away=self._away)]
        if model.files_total:
            parts.append(_rows(model, files))
        return Group(*parts)


def moving(files: dict[str, FileView], limit: int) -> tuple[FileView, ...]:
    """The files that have begun and are not done, in order of their paths, at most `limit`."""
    begun = sorted(path for path, each in files.items() if 0 < each.done < each.size)
    return tuple(files[path] for path in begun[: max(limit, 0)])


def _headline(model: ModelView, pace: Pace, *, away: bool) -> Text:
    line = f"{model.name}: {model.state}"
    if away:
        line += ", the daemon went away; waiting for it to come back"
    elif model.files_total:
        line += f", {totals(model)}{tempo(model, pace, time.monotonic())}"
    return Text(human.printable(line), no_wrap=True, overflow="ellipsis")


def _rows(model: ModelView, files: tuple[FileView, ...]) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=44)
    grid.add_column(width=BAR)
    grid.add_column(justify="right", no_wrap=True)
    for each in files:
        size = f"{human.size(each.done)} / {human.size(each.size)}"
        grid.add_row(Text(human.printable(each.path)), _bar(each.done, each.size), Text(size))
    grid.add_row(Text("in all"), _bar(model.bytes_done, model.bytes_total), Text(human.size(model.bytes_total)))
    return grid


def _bar(done: int, total: int) -> ProgressBar:
    return ProgressBar(total=max(total, 1), completed=done if total else 1, width=BAR, complete_style="cyan")
