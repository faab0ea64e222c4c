"""The one place for threads in the control process: blocking calls leave the event loop through here.

A thread cannot be cancelled. So when the awaiting task is, `run` still waits for the call to end before it
lets the cancellation through: nobody reuses a file or a lock that a forgotten thread still works on.
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


async def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`function(*args, **kwargs)` in a thread; what it returns or raises."""
    loop = asyncio.get_running_loop()
    call = loop.run_in_executor(_pool, functools.partial(function, *args, **kwargs))
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        await asyncio.wait([call])
        if not call.cancelled():
            call.exception()  # seen here; the cancellation is what the caller gets
        raise
