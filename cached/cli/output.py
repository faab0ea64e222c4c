"""The one output sink: data on stdout, talk on stderr, nothing of one on the other.

With `json` data is one JSON document, talk is silent, and an error is one JSON object on stderr.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

import msgspec

from cached import codec, human
from cached.api.types import ErrorBody
from cached.errors import CachedError

GAP = "  "


class Output:
    """Writes what a command has to say."""

    def __init__(self, *, json: bool, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.json = json
        self._out = stdout or sys.stdout
        self._err = stderr or sys.stderr

    @property
    def live(self) -> bool:
        """Whether talk may redraw itself: a person looks at a terminal."""
        return not self.json and self._err.isatty()

    def data(self, value: msgspec.Struct | dict[str, object], text: Iterable[str]) -> None:
        """The result: `value` as JSON, or the lines of `text`."""
        lines = [codec.pretty(value)] if self.json else text
        for line in lines:
            self._out.write(f"{_plain(line)}\n")
        self._out.flush()

    def talk(self, line: str) -> None:
        """Say something on the way."""
        if not self.json:
            self._say(_plain(line))

    def farewell(self, line: str) -> None:
        """The last word of a command that was interrupted: with --json one JSON object, as errors are."""
        self._say(codec.encode({"message": _plain(line)}).decode() if self.json else _plain(line))

    def error(self, error: CachedError) -> None:
        """What failed, why, and what mends it."""
        if self.json:
            body = ErrorBody(code=error.code, message=error.message, hint=error.hint, details=error.details)
            self._say(codec.encode(body).decode())
            return
        what, *why = error.message.splitlines() or [""]
        lines = [f"error: {what}", *(f"  {line}" for line in why), *([f"hint: {error.hint}"] if error.hint else [])]
        self._say("\n".join(map(_plain, lines)))

    def _say(self, text: str) -> None:
        """On stderr. That nobody can read it must not change how the command ends."""
        try:
            self._err.write(f"{text}\n")
            self._err.flush()
        except OSError:
            give_up(self._err)


def give_up(stream: TextIO) -> None:
    """Throw away what `stream` still has to write, so that the interpreter does not fail on it at its end."""
    with contextlib.suppress(OSError, ValueError):  # no file is behind it
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Aligned columns; the last one takes what it needs."""
    cells = [list(head), *([human.printable(cell) for cell in row] for row in rows)]
    widths = [*(max(len(row[column]) for row in cells) for column in range(len(head) - 1)), 0]
    return [GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]


def facts(pairs: Iterable[tuple[str, object]]) -> list[str]:
    """Names and values, a pair a line; pairs without a value are left out."""
    kept = [(name, str(value)) for name, value in pairs if value not in {None, ""}]
    width = max((len(name) for name, _ in kept), default=0)
    return [f"{name.ljust(width)}{GAP}{value}" for name, value in kept]


def _plain(line: str) -> str:
    """A line that a terminal only prints (JSON's own line breaks stay)."""
    return "\n".join(human.printable(part) for part in line.split("\n"))
