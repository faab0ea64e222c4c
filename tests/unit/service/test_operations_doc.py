"""docs/operations.md is what operators build alerts and scripts on: it names everything, and as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cached.clock import SystemClock
from cached.errors import TABLE, Code
from cached.service.cache import Front
from cached.service.metrics import CacheCollector
from tests.helpers.memory_cache import MemoryCache

TEXT = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()


def section(title: str) -> list[list[str]]:
    """The cells of its table's rows."""
    body = TEXT.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("code", list(Code))
def test_every_reason_has_its_exit_code(code: Code) -> None:
    assert [row[0] for row in section("Exit codes") if f"`{code}`" in row[2]] == [str(TABLE[code].exit.value)]


@pytest.mark.parametrize("code", list(Code))
def test_every_reason_has_its_http_status(code: Code) -> None:
    assert [row[1][:3] for row in section("HTTP API") if f"`{code}`" in row[0]] == [str(TABLE[code].http)]


def test_every_metric_is_in_the_table_and_nothing_else() -> None:
    front = Front(SystemClock())
    front.open(MemoryCache())
    exported = {
        f"{metric.name}_total" if metric.type == "counter" else metric.name
        for metric in CacheCollector(front).collect()
    }
    documented = {name for row in section("Metrics") for name in re.findall(r"`(cached_\w+)", row[0])}
    assert documented == exported
