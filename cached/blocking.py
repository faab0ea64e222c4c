"""The one place for threads in the control process: blocking calls leave the event loop through here.

A thread cannot be cancelled. So when the awaiting task is, `run` still waits for the call to end before it
lets the cancellation through: nobody reuses a file or a lock that a forgotten thread still works on. `acquire`
is for calls whose result must be given back, `look` for calls that change nothing here.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 16
_pool = ThreadPoolExecutor(THREADS, thread_name_prefix="blocking")
_questions = ThreadPoolExecutor(4 * THREADS, thread_name_prefix="question")
"""Apart from the others: servers that do not answer must not keep the disk waiting."""


async def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`function(*args, **kwargs)` in a thread; what it returns or raises."""
    call = _start(functools.partial(function, *args, **kwargs))
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        await _ended(call)
        raise


async def acquire(function: Callable[[], T], *, release: Callable[[T], object]) -> T:
    """`function()` in a thread; if the caller is cancelled meanwhile, what it returned goes to `release`."""
    call = _start(function)
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        await _ended(call)
        if call.exception() is None:
            await run(release, call.result())
        raise


async def look(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`function(*args, **kwargs)` in a thread that a cancelled caller leaves behind: for questions to a server, which
    may take half a minute to fail and change nothing here.
    """
    return await asyncio.get_running_loop().run_in_executor(_questions, functools.partial(function, *args, **kwargs))


def _start(function: Callable[[], T]) -> asyncio.Future[T]:
    return asyncio.get_running_loop().run_in_executor(_pool, function)


async def _ended(call: asyncio.Future[T]) -> None:
    """Wait until the call has ended, however often the waiting task is cancelled."""
    while not call.done():
        try:
            await asyncio.wait([call])
        except asyncio.CancelledError:
            continue
    call.exception()  # seen here; the cancellation is what the caller gets
