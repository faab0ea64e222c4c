"""How long a pod waits to learn where a cached model lies: `GET /v1/models/{name}` through the socket.

Two loads: one caller that asks again at once, and 64 callers that ask 500 times a second in all. The second is
open: each request has a time at which it is due, and its latency counts from then, so that a slow answer is
not hidden by the requests that it kept from being sent.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import daemon, machine, report, results
from benchmarks.contestants import clean_environment
from benchmarks.datasets import BUCKET, build, shards
from benchmarks.errors import BenchError
from benchmarks.results import Latency, WarmHit
from cached.config import Source

NAME = "warm"
CALLERS = 64
RATE = 500.0
WARM_UP = 50
FILES = 10
FILE_SIZE = 1 << 20


def main(argv: list[str]) -> None:
    """Measure, print the table, and record it where asked. Raises BenchError."""
    options = _parser().parse_args(argv)
    with _warm_daemon(options.disk) as socket:
        loads = (
            Latency(callers=1, rate=None, seconds=tuple(asyncio.run(alone(socket, options.requests)))),
            Latency(callers=CALLERS, rate=RATE, seconds=tuple(asyncio.run(together(socket, options.requests)))),
        )
    stood_on = machine.fingerprint(disk=options.disk, source=options.disk)
    record = WarmHit(machine=stood_on, version=daemon.version(), files=FILES, loads=loads)
    print(report.warmhit_markdown(record))
    if options.json:
        results.save(record, options.json)
    if options.record:
        results.save(record, results.FOLDER / "warmhit.json")
        report.write("warmhit", report.warmhit_markdown(record))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks warmhit", description=__doc__)
    add = parser.add_argument
    add("--requests", type=int, default=5000, help="requests a load (default 5000, 10 s of the second)")
    add("--disk", type=Path, default=Path("/var/tmp"), help="folder for the daemon's root (default /var/tmp)")
    add("--json", type=Path, metavar="FILE", help="write every measurement here")
    add("--record", action="store_true", help="write benchmarks/results/warmhit.json and the table in the docs")
    return parser


@contextmanager
def _warm_daemon(disk: Path) -> Iterator[Path]:
    """The socket of a daemon that holds the model."""
    with tempfile.TemporaryDirectory(dir=disk, prefix="cached-bench-") as folder:
        scratch = Path(folder)
        model = build(shards(NAME, count=FILES, size=FILE_SIZE), scratch)
        source = Source(prefix=f"file://{scratch / BUCKET}/")
        env = clean_environment(scratch)
        with daemon.running(scratch, sources=(source,), env=env) as running:
            daemon.fetch(running, f"file://{model}/", name=NAME, env=env)
            yield running.socket


async def alone(socket: Path, count: int) -> list[float]:
    """Seconds of `count` requests, one after the other on one connection, after a few that do not count."""
    caller = await _Caller.connect(socket)
    try:
        return [await caller.ask() for _ in range(WARM_UP + count)][WARM_UP:]
    finally:
        await caller.close()


async def together(socket: Path, count: int) -> list[float]:
    """Seconds of `count` requests at 500 a second from 64 connections, each counted from when it was due."""
    callers = [await _Caller.connect(socket) for _ in range(CALLERS)]
    try:
        for caller in callers:
            await caller.ask()
        start = time.perf_counter() + 0.1
        turns = [caller.ask_at(due(start, number, count)) for number, caller in enumerate(callers)]
        return [seconds for latencies in await asyncio.gather(*turns) for seconds in latencies]
    finally:
        for caller in callers:
            await caller.close()


def due(start: float, caller: int, count: int) -> list[float]:
    """When one of the 64 callers sends: its share of `count` requests that stand 2 ms apart."""
    return [start + turn / RATE for turn in range(caller, count, CALLERS)]


class _Caller:
    """One keep-alive connection. Its own few lines of HTTP, because a client library would be the larger part."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, socket: Path) -> _Caller:
        return cls(*await asyncio.open_unix_connection(str(socket)))

    async def ask(self) -> float:
        start = time.perf_counter()
        await self._exchange()
        return time.perf_counter() - start

    async def ask_at(self, times: list[float]) -> list[float]:
        latencies = []
        for when in times:
            await asyncio.sleep(max(0.0, when - time.perf_counter()))
            await self._exchange()
            latencies.append(time.perf_counter() - when)
        return latencies

    async def _exchange(self) -> None:
        self._writer.write(f"GET /v1/models/{NAME} HTTP/1.1\r\nHost: cached\r\n\r\n".encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = content_length(head)
        await self._reader.readexactly(length)
        if " 200 " not in head.partition("\r\n")[0]:
            raise BenchError(f"the daemon answered {head.partition(chr(13))[0]!r}")

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


def content_length(head: str) -> int:
    """The Content-Length of a lower-case response head. Raises BenchError without one."""
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name == "content-length":
            return int(value)
    raise BenchError("the daemon's answer has no Content-Length")
