"""Where data and talk go when nobody can take them, by the real programs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cached.errors import Exit

if TYPE_CHECKING:
    from tests.cli.conftest import Box

COMMANDS = [["config", "--defaults"], ["config", "--json"], ["--version"], ["--help"]]
FULL = "/dev/full"


def into(box: Box, path: str, *arguments: str, stream: str = "stdout") -> subprocess.CompletedProcess[str]:
    """`cachectl` with one of its streams in a file."""
    with Path(path).open("w") as file:
        return box.run("cachectl", *arguments, **{stream: file})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_under_stdout_is_an_error_in_a_line(alone: Box, command: list[str]) -> None:
    ended = into(alone, FULL, *command)
    said = ["error: cannot write to stdout: No space left on device", "hint: what was printed is not whole"]
    assert (ended.returncode, len(ended.stderr.splitlines())) == (Exit.FAILED, 1 if "--json" in command else 2)
    assert all(line in ended.stderr or "--json" in command for line in said)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_left_ends_a_command_without_a_word(alone: Box, command: list[str]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "w") as pipe:
        ended = alone.run("cachectl", *command, stdout=pipe)
    assert (ended.returncode, ended.stderr) == (Exit.NO_READER, "")


def test_an_error_that_nobody_can_read_keeps_its_exit_code(alone: Box) -> None:
    assert into(alone, FULL, "show", "m", stream="stderr").returncode == Exit.DAEMON_UNREACHABLE


def test_a_list_of_models_that_does_not_fit_is_an_error_too(stocked: Box) -> None:
    ended = into(stocked, FULL, "ls")
    assert (ended.returncode, ended.stderr.startswith("error: cannot write to stdout")) == (Exit.FAILED, True)
