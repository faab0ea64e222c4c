from __future__ import annotations

import asyncio
import threading

import pytest

from cached import blocking


class Gate:
    """A call that a test lets end."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()
        self.left = False

    def call(self) -> str:
        self.entered.set()
        assert self.open.wait(10)
        self.left = True
        return "done"


async def entered(gate: Gate) -> None:
    await asyncio.get_running_loop().run_in_executor(None, gate.entered.wait, 10)


@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancelled_caller_waits_for_its_thread_however_often_it_is_cancelled(times: int) -> None:
    gate = Gate()
    task = asyncio.create_task(blocking.run(gate.call))
    await entered(gate)
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gate.left


async def test_what_a_cancelled_caller_acquired_is_given_back() -> None:
    gate, returned = Gate(), list[str]()
    task = asyncio.create_task(blocking.acquire(gate.call, release=returned.append))
    await entered(gate)
    task.cancel()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert returned == ["done"]


async def test_what_is_acquired_in_peace_stays() -> None:
    returned = list[str]()
    assert await blocking.acquire(lambda: "mine", release=returned.append) == "mine"
    assert returned == []


async def test_a_question_to_a_server_is_left_behind_at_once() -> None:
    gate = Gate()
    task = asyncio.create_task(blocking.look(gate.call))
    await entered(gate)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not gate.left
    gate.open.set()


async def test_an_error_reaches_the_caller() -> None:
    def fails() -> None:
        raise ValueError("why")

    for way in (blocking.run, blocking.look):
        with pytest.raises(ValueError, match="why"):
            await way(fails)
