"""What a person is told while a model comes: bars on a terminal, a few plain lines elsewhere, nothing beside JSON."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from cached import human
from cached.api.types import FileView, ModelView
from cached.cli.follow import Report
from cached.cli.output import Output
from cached.cli.pace import Pace
from cached.types import State

EVERY_SECONDS = 10.0
EVERY_PERCENT = 10


@contextlib.contextmanager
def reporter(output: Output) -> Iterator[Report]:
    """The report that suits where talk goes."""
    if not output.live:
        yield PlainReport(output)
        return
    from cached.cli.bars import Bars  # rich takes 100 ms to load

    with Bars() as bars:
        yield bars


class PlainReport:
    """A line when the state changes or the size is known, then one every 10 s or 10 %, whichever comes first."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._pace = Pace()
        self._stage: tuple[State, bool] | None = None
        self._said_at = 0.0
        self._said_percent = 0
        self._away = False

    def show(self, model: ModelView, files: dict[str, FileView]) -> None:  # noqa: ARG002  a line has no room for files
        """See `Report.show`."""
        now = time.monotonic()
        self._pace.add(now, model.bytes_fetched)
        stage = (model.state, bool(model.files_total))
        percent = model.bytes_done * 100 // model.bytes_total if model.bytes_total else 0
        if stage != self._stage or self._away:
            line = _opening(model)
        elif now - self._said_at >= EVERY_SECONDS or percent - self._said_percent >= EVERY_PERCENT:
            line = _progress(model, self._pace, now)
        else:
            return
        self._stage, self._said_at, self._said_percent, self._away = stage, now, percent, False
        self._output.talk(line)

    def away(self) -> None:
        """See `Report.away`."""
        if not self._away:
            self._output.talk("the daemon went away; waiting for it to come back")
        self._away = True


def _opening(model: ModelView) -> str:
    if model.state in {State.READY, State.FAILED} or not model.files_total:
        return f"{model.name}: {model.state}"
    here = f", {human.size(model.bytes_done)} already here" if model.bytes_done else ""
    return (
        f"{model.name}: {model.state}, {human.count(model.files_total, 'file')}, {human.size(model.bytes_total)}{here}"
    )


def _progress(model: ModelView, pace: Pace, now: float) -> str:
    return f"{model.name}: {totals(model)}{tempo(model, pace, now)}"


def totals(model: ModelView) -> str:
    """How much is in place."""
    return (
        f"{human.percent(model.bytes_done, model.bytes_total)}, {human.size(model.bytes_done)} of "
        f"{human.size(model.bytes_total)}, {model.files_done} of {human.count(model.files_total, 'file')}"
    )


def tempo(model: ModelView, pace: Pace, now: float) -> str:
    """Rate and time left, as far as they are known."""
    eta = pace.eta(now, model.bytes_total - model.bytes_done)
    left = f", {human.span(eta)} left" if eta is not None else ""
    return f", {human.rate(pace.rate(now))}{left}"
