from __future__ import annotations

import io

from rich.console import Console

from cached.api.types import FileView
from cached.cli.bars import ROWS, Bars, moving
from tests.helpers.memory_cache import view


def files(count: int, *, done: int) -> dict[str, FileView]:
    return {f"{number:04}": FileView(path=f"{number:04}", size=10, done=done) for number in range(count)}


def drawn(shown: dict[str, FileView], **changes: object) -> str:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, height=24, color_system=None)
    with Bars(console) as bars:
        bars.show(view(bytes_total=100, bytes_done=50, files_total=len(shown), **changes), shown)
        return "\n".join(line for line in _lines(console, bars))


def _lines(console: Console, bars: Bars) -> list[str]:
    with console.capture() as capture:
        console.print(bars._picture())
    return capture.get().splitlines()


def test_only_files_that_move_have_a_row() -> None:
    shown = files(1, done=5) | {"z": FileView(path="z", size=1, done=1), "y": FileView(path="y", size=1, done=0)}
    assert [each.path for each in moving(shown, 10)] == ["0000"]


def test_a_model_of_thousands_of_files_does_not_flood_the_screen() -> None:
    assert len(drawn(files(2000, done=5)).splitlines()) == ROWS + 2


def test_rows_keep_their_order() -> None:
    assert [each.path for each in moving(files(5, done=1), 3)] == ["0000", "0001", "0002"]


def test_no_room_is_no_rows() -> None:
    assert moving(files(5, done=1), -1) == ()


def test_the_whole_is_told_in_words_and_in_a_bar() -> None:
    text = drawn(files(2, done=5))
    assert ("m: Downloading, 50 %, 50 B of 100 B, 0 of 2 files" in text, "in all" in text) == (True, True)


def test_markup_and_escapes_in_a_name_are_only_letters() -> None:
    name = "[red]a\x1b[2J"
    text = drawn({name: FileView(path=name, size=10, done=5)})
    assert "[red]a\\x1b[2J" in text


def test_a_daemon_that_went_away_is_said() -> None:
    console = Console(file=io.StringIO(), width=100)
    bars = Bars(console)
    bars.show(view(files_total=1), {})
    bars.away()
    assert "the daemon went away" in "".join(_lines(console, bars))
