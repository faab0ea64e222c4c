from __future__ import annotations

from cached.cli.pace import WINDOW, Pace


def paced(*points: tuple[float, int]) -> Pace:
    pace = Pace()
    for now, count in points:
        pace.add(now, count)
    return pace


def test_nothing_is_known_at_first() -> None:
    assert (Pace().rate(1), Pace().eta(1, 100), paced((1, 50)).rate(1)) == (0, None, 0)


def test_the_rate_is_that_of_the_window_and_not_of_the_whole() -> None:
    slow = [(float(second), second * 10) for second in range(100)]
    fast = [(100.0 + second, 1000 + second * 500) for second in range(40)]
    assert paced(*slow, *fast).rate(139) == 500


def test_a_stall_shows_while_no_bytes_come() -> None:
    pace = paced((0, 0), (10, 1000))
    assert pace.rate(100) == 10


def test_the_time_left_follows_from_the_rate() -> None:
    assert paced((0, 0), (10, 1000)).eta(10, 500) == 5


def test_a_count_that_falls_begins_anew() -> None:
    assert paced((0, 1000), (10, 0), (11, 50)).rate(11) == 50


def test_old_points_are_forgotten() -> None:
    pace = paced(*((float(second), second) for second in range(10_000)))
    assert len(pace._points) <= WINDOW + 2
