"""Numbers for people: sizes, spans of time, rates. Pure; programs get plain bytes and seconds instead."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(amount: float) -> str:
    """Bytes in binary units with three significant digits: `512 B`, `1.50 MiB`, `137 GiB`."""
    if amount < 999.5:
        return f"{amount:.0f} B"
    value = float(amount)
    unit = 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value /= 1024
        unit += 1
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {_UNITS[unit]}"


def span(seconds: float) -> str:
    """Seconds as the two largest units: `8 s`, `3 min 20 s`, `2 h 05 min`, `4 d 07 h`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02} h"


def rate(per_second: float) -> str:
    """Bytes a second."""
    return f"{size(per_second)}/s"


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def percent(part: int, whole: int) -> str:
    """Never 100 % before all is there; nothing of nothing is all."""
    return f"{part * 100 // whole if whole else 100} %"


def printable(text: str) -> str:
    """`text` with every character that could move a cursor or hide something written as an escape.

    File names and messages come from object stores; a terminal must not obey them.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
