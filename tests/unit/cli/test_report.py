from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from cached.cli import report as module
from cached.cli.output import Output
from cached.cli.report import PlainReport, reporter
from cached.types import State
from tests.helpers.memory_cache import ready, view


class Listener:
    """A plain report, its time and its lines."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._stderr = io.StringIO()
        self.now = 100.0
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.report = PlainReport(Output(json=False, stdout=io.StringIO(), stderr=self._stderr))

    @property
    def lines(self) -> list[str]:
        return self._stderr.getvalue().splitlines()

    def show(self, done: int, **changes: object) -> None:
        self.report.show(view(**{"bytes_total": 1000, "bytes_done": done, "bytes_fetched": done, **changes}), {})


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    return Listener(monkeypatch)


def test_the_first_line_says_how_much_is_to_come(listener: Listener) -> None:
    listener.show(0)
    assert listener.lines == ["m: Downloading, 2 files, 0.98 KiB"]


def test_what_is_here_already_is_said_at_the_start(listener: Listener) -> None:
    listener.show(300)
    assert listener.lines[0].endswith(", 300 B already here")


def test_small_steps_are_not_told(listener: Listener) -> None:
    for done in range(0, 100, 5):
        listener.show(done)
    assert len(listener.lines) == 1


def test_every_ten_percent_is_a_line(listener: Listener) -> None:
    for done in range(0, 1000, 10):
        listener.show(done)
    assert len(listener.lines) == 10


def test_every_ten_seconds_is_a_line_however_slow_it_goes(listener: Listener) -> None:
    for _ in range(21):
        listener.show(1)
        listener.now += 1
    assert len(listener.lines) == 3


def test_a_line_tells_rate_and_time_left(listener: Listener) -> None:
    listener.show(0)
    listener.now += 10
    listener.show(500)
    assert listener.lines[-1] == "m: 50 %, 500 B of 0.98 KiB, 0 of 2 files, 50 B/s, 10 s left"


def test_a_change_of_state_is_a_line(listener: Listener) -> None:
    listener.show(0, state=State.QUEUED, files_total=0)
    listener.show(0)
    listener.report.show(ready(), {})
    assert [line.split(",")[0] for line in listener.lines] == ["m: Queued", "m: Downloading", "m: Ready"]


def test_a_daemon_that_went_away_is_said_once_and_its_return_too(listener: Listener) -> None:
    listener.show(0)
    for _ in range(5):
        listener.report.away()
    listener.show(0)
    assert listener.lines[1] == "the daemon went away; waiting for it to come back"
    assert len(listener.lines) == 3


def test_beside_json_nothing_is_said() -> None:
    stderr = io.StringIO()
    with reporter(Output(json=True, stdout=io.StringIO(), stderr=stderr)) as report:
        report.show(view(), {})
        report.away()
    assert stderr.getvalue() == ""
