"""What the programs say to wrong input, and when no daemon answers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cached
from cached.config import Config, parse_config
from cached.errors import Exit

if TYPE_CHECKING:
    from tests.cli.conftest import Box


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["prefech"], "No such command 'prefech'. Did you mean 'prefetch'?"),
        (["ls", "--jsn"], "'--jsn'. Did you mean '--json'?"),
        (["prefetch"], "Missing argument 'URI'"),
        (["prefetch", "models/llama"], "'models/llama' is not a URI"),
        (["prefetch", "/srv/m"], "did you mean file:///srv/m ?"),
        (["prefetch", "s3://b/m", "--name", "Llama 3"], "'Llama 3' is not a model name"),
        (["prefetch", "s3://b/m", "--sha256", "abc"], "'abc' is not PATH=HEX"),
        (["prefetch", "s3://b/m", "--sha256", "w=abc"], "expected 64 lower-case hexadecimal characters"),
        (["prefetch", "s3://b/m", "--timeout", "soon"], "'soon' is not a time span"),
        (["show", "UPPER"], "'UPPER' is not a model name"),
        (["path", "a/b"], "'a/b' is not a model name"),
    ],
)
def test_wrong_usage_is_2_with_a_line_that_helps(alone: Box, arguments: list[str], words: str) -> None:
    ended = alone.ctl(*arguments)
    error, hint = ended.stderr.splitlines()
    assert (ended.returncode, ended.stdout, words in error) == (Exit.USAGE, "", True)
    assert (error.startswith("error: "), hint.startswith("hint: `cachectl")) == (True, True)


def test_wrong_usage_with_json_is_an_object(alone: Box) -> None:
    ended = alone.ctl("show", "--json")
    assert (ended.returncode, json.loads(ended.stderr)["code"]) == (Exit.USAGE, "InvalidArgument")


@pytest.mark.parametrize("command", [["ls"], ["status"], ["show", "m"], ["prefetch", "s3://b/m"], ["wait", "m"]])
def test_without_a_daemon_the_hint_says_how_to_reach_one(alone: Box, command: list[str]) -> None:
    ended = alone.ctl(*command)
    assert (ended.returncode, ended.stdout) == (Exit.DAEMON_UNREACHABLE, "")
    assert ended.stderr == (
        f"error: no daemon answers at {alone.socket}\n"
        "hint: start it with `cached serve`, or name its socket with --socket or CACHED_SOCKET\n"
    )


def test_the_option_wins_over_the_variable(alone: Box) -> None:
    assert "/nowhere.sock" in alone.ctl("ls", "--socket", "/nowhere.sock").stderr


@pytest.mark.parametrize("program", ["cached", "cachectl"])
def test_the_version_is_one_line(alone: Box, program: str) -> None:
    ended = alone.run(program, "--version")
    assert (ended.returncode, ended.stdout) == (0, f"{program} {cached.__version__}\n")


@pytest.mark.parametrize("program", ["cached", "cachectl"])
def test_without_arguments_the_help_is_shown(alone: Box, program: str) -> None:
    ended = alone.run(program)
    assert (ended.returncode, "Commands:" in ended.stderr) == (Exit.USAGE, True)


@pytest.mark.parametrize("command", ["prefetch", "ls", "show", "path", "wait", "rm", "status", "config"])
def test_every_command_teaches_with_an_example(alone: Box, command: str) -> None:
    text = alone.ctl(command, "--help").stdout
    assert f"cachectl {command}" in text.partition("Examples:")[2]


def test_the_defaults_are_yaml_that_parses_back(alone: Box) -> None:
    assert parse_config(alone.ctl("config", "--defaults").stdout, where="test") == Config()


def test_the_settings_in_effect_parse_back(alone: Box) -> None:
    path = alone.config()
    printed = alone.ctl("config", "--config", str(path)).stdout
    assert parse_config(printed, where="test") == parse_config(path.read_text(), where="test")


def test_the_settings_in_effect_as_json(alone: Box) -> None:
    assert alone.json("config", "--config", str(alone.config()))["timeouts"]["stall_window"] == 1


def test_a_reader_that_left_leaves_no_trace(stocked: Box) -> None:
    line = f"{Path(sys.executable).parent}/cachectl status --json | true"
    ended = subprocess.run(line, shell=True, env=stocked.environment, capture_output=True, text=True, check=False)
    assert "Traceback" not in ended.stderr
