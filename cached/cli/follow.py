"""Watching one model to its end, over daemon restarts: shared by `prefetch` and `wait`.

Watching keeps nothing alive and its end stops nothing: the demand is the daemon's.
"""

from __future__ import annotations

import time
from typing import Protocol

from cached.api.client import Client, error_of
from cached.api.types import ErrorBody, FileView, ModelView
from cached.errors import Code, NotFound, Retryable
from cached.types import ModelName, State

AWAY_LIMIT = 60.0
"""Seconds that a daemon may be away: a restart, with recovery, takes a few."""
AWAY_PAUSE = 0.5


class Report(Protocol):
    """Who is told on the way."""

    def show(self, model: ModelView, files: dict[str, FileView]) -> None:
        """The state now; `files` by path, all of them."""
        ...

    def away(self) -> None:
        """The daemon went away; it is waited for."""
        ...


class Follower:
    """One model of one daemon."""

    def __init__(self, client: Client, name: ModelName, report: Report) -> None:
        self._client = client
        self._name = name
        self._report = report
        self._seen: float | None = None

    def run(self, *, deadline: float | None = None) -> ModelView:
        """The model once it is Ready.

        Raises the error that it failed with; NotFound when there is none or it is removed meanwhile; Retryable
        with Timeout past `deadline` (a reading of time.monotonic()), or with DaemonUnreachable when the
        daemon was never there or stays away.
        """
        while True:
            try:
                model = self._watch(deadline)
            except Retryable as error:
                if error.code is not Code.DAEMON_UNREACHABLE or not self._may_return(deadline):
                    raise
            else:
                return _ready(model)
            self._report.away()
            time.sleep(AWAY_PAUSE)

    def _watch(self, deadline: float | None) -> ModelView:
        files: dict[str, FileView] = {}
        for event in self._client.events(self._name, deadline=deadline):
            self._seen = time.monotonic()
            files.update((each.path, each) for each in event.files)
            self._report.show(event.model, files)
            if event.removed:
                raise NotFound(f"{self._name} was removed while it was waited for", hint="`cachectl prefetch` it again")
            model = event.model
        return model

    def _may_return(self, deadline: float | None) -> bool:
        now = time.monotonic()
        in_time = deadline is None or now < deadline
        return in_time and self._seen is not None and now - self._seen < AWAY_LIMIT


def _ready(model: ModelView) -> ModelView:
    if model.state is State.READY:
        return model
    raise error_of(ErrorBody(code=model.reason or Code.INTERNAL, message=model.message, hint=model.hint))
