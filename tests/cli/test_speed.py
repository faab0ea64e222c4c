"""A command answers before a person has time to wonder: 200 ms over bare Python, in any shell prompt or script."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN

if TYPE_CHECKING:
    from tests.cli.conftest import Box

OVER = 0.200
TIMES = 10


def seconds(command: list[str], environment: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - begun


@pytest.mark.parametrize("command", ["--version", "ls"])
def test_a_command_takes_at_most_200_ms_more_than_bare_python(stocked: Box, command: str) -> None:
    plain, ours = [sys.executable, "-c", "pass"], [str(BIN / "cachectl"), command]
    pairs = [(seconds(plain, stocked.environment), seconds(ours, stocked.environment)) for _ in range(TIMES)]
    bare, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
    assert whole - bare <= OVER


HEAVY = {"aiohttp", "asyncio", "rich", "structlog", "boto3", "yaml", "pydantic"}


@pytest.mark.parametrize("command", [["--version"], ["ls"], ["status", "--json"], ["show", "--help"]])
def test_a_plain_command_loads_neither_the_service_nor_the_bars(stocked: Box, command: list[str]) -> None:
    program = (
        f"import sys\nfrom cached.cli.main import run\nrun('cachectl', {command!r})\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], env=stocked.environment, capture_output=True, text=True, check=True
    )
    assert HEAVY & set(ended.stderr.split()) == set()
