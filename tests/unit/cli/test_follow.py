"""Watching a model to its end: a client that plays back what a daemon would say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cached.api.client import Client
from cached.api.types import Event, FileView, ModelView
from cached.cli import follow as module
from cached.cli.follow import AWAY_LIMIT, Follower
from cached.errors import CachedError, Code, Exit, NotFound, Retryable
from cached.types import ModelName, State
from tests.helpers.memory_cache import ready, view

GONE = Retryable("gone", code=Code.DAEMON_UNREACHABLE)


class Played(Client):
    """Each stream is a list of events; an error in it is raised."""

    def __init__(self, *streams: list[Event | CachedError]) -> None:
        super().__init__(Path("/nowhere"))
        self.streams = list(streams)

    def events(self, name: ModelName, *, deadline: float | None = None) -> Iterator[Event]:  # noqa: ARG002  played back
        for item in self.streams.pop(0) if len(self.streams) > 1 else self.streams[0]:
            if isinstance(item, CachedError):
                raise item
            yield item


class Heard:
    def __init__(self) -> None:
        self.shown: list[tuple[State, int]] = []
        self.aways = 0

    def show(self, model: ModelView, files: dict[str, FileView]) -> None:
        self.shown.append((model.state, len(files)))

    def away(self) -> None:
        self.aways += 1


class Time:
    """Sleeping is what makes it pass."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(module, "time", time)
    return time


def follow(client: Client, heard: Heard | None = None, *, deadline: float | None = None) -> ModelView:
    return Follower(client, ModelName("m"), heard or Heard()).run(deadline=deadline)


def event(model: ModelView, *paths: str, removed: bool = False) -> Event:
    return Event(model=model, files=tuple(FileView(path=path, size=1, done=0) for path in paths), removed=removed)


def test_it_ends_with_the_ready_model() -> None:
    assert follow(Played([event(view()), event(ready())])) == ready()


def test_files_add_up_over_events() -> None:
    heard = Heard()
    follow(Played([event(view(), "a", "b"), event(view(), "b", "c"), event(ready())]), heard)
    assert [count for _, count in heard.shown] == [2, 3, 3]


def test_a_failed_model_is_its_reason_s_error() -> None:
    failed = view(state=State.FAILED, reason=Code.DIGEST_MISMATCH, message="w is not what was promised", hint="ask")
    with pytest.raises(CachedError, match="not what was promised") as caught:
        follow(Played([event(failed)]))
    assert (caught.value.exit_code, caught.value.hint) == (Exit.DIGEST_MISMATCH, "ask")


def test_a_model_removed_meanwhile_is_not_found() -> None:
    with pytest.raises(NotFound, match="was removed"):
        follow(Played([event(view()), event(view(), removed=True)]))


def test_a_restart_of_the_daemon_is_outlived() -> None:
    heard = Heard()
    assert follow(Played([event(view()), GONE], [GONE], [event(ready())]), heard) == ready()
    assert heard.aways == 2


def test_a_daemon_that_was_never_there_is_not_waited_for() -> None:
    heard = Heard()
    with pytest.raises(Retryable):
        follow(Played([GONE]), heard)
    assert heard.aways == 0


def test_a_daemon_that_stays_away_is_given_up_after_a_minute(clock: Time) -> None:
    with pytest.raises(Retryable):
        follow(Played([event(view()), GONE], [GONE]))
    assert AWAY_LIMIT <= clock.now <= AWAY_LIMIT + 1


def test_a_deadline_holds_while_the_daemon_is_away(clock: Time) -> None:
    with pytest.raises(Retryable):
        follow(Played([event(view()), GONE], [GONE]), deadline=5)
    assert clock.now <= 6


def test_another_error_is_not_waited_out() -> None:
    with pytest.raises(Retryable) as caught:
        follow(Played([event(view()), Retryable("late", code=Code.TIMEOUT)]))
    assert caught.value.code is Code.TIMEOUT
