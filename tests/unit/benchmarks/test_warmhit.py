from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from benchmarks.errors import BenchError
from benchmarks.warmhit import CALLERS, alone, due, together


@asynccontextmanager
async def a_daemon(
    socket: Path, *, status: str = "200 OK", delay: Callable[[int], float] = lambda _: 0.0
) -> AsyncIterator[None]:
    """Answers every request of a keep-alive connection, the nth `delay(n)` seconds late."""
    answered = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal answered
        while await reader.read(4096):
            answered += 1
            await asyncio.sleep(delay(answered))
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        writer.close()

    async with await asyncio.start_unix_server(answer, socket):
        yield


def test_the_callers_together_send_each_request_once_and_evenly_spaced() -> None:
    times = sorted(time for caller in range(CALLERS) for time in due(10.0, caller, 200))
    assert times == [10.0 + number * 0.002 for number in range(200)]


async def test_alone_counts_only_what_was_asked_for(tmp_path: Path) -> None:
    async with a_daemon(tmp_path / "s"):
        assert len(await alone(tmp_path / "s", 7)) == 7


async def test_together_counts_only_what_was_asked_for(tmp_path: Path) -> None:
    async with a_daemon(tmp_path / "s"):
        assert len(await together(tmp_path / "s", 100)) == 100


async def test_a_request_that_a_slow_answer_kept_waiting_counts_from_when_it_was_due(tmp_path: Path) -> None:
    # The first timed answer is half a second late; its caller's next three were due 128 ms apart meanwhile.
    async with a_daemon(tmp_path / "s", delay=lambda answered: 0.5 if answered == CALLERS + 1 else 0.0):
        seconds = await together(tmp_path / "s", 4 * CALLERS)
    assert len([latency for latency in seconds if latency > 0.1]) == 4


async def test_an_answer_that_is_no_success_ends_the_measurement(tmp_path: Path) -> None:
    async with a_daemon(tmp_path / "s", status="404 Not Found"):
        with pytest.raises(BenchError, match="404 not found"):
            await alone(tmp_path / "s", 1)
