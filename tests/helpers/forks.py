"""Children of the test process that do one thing each, all from one moment on, and end with it."""

from __future__ import annotations

import functools
import os
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from cached.errors import CachedError

DONE, FAILED, REFUSED = 0, 1, 3
"""Exit codes: the work returned; it raised what no caller may see; it raised a CachedError."""
Work = Callable[[], None]


@dataclass(slots=True)
class Child:
    """A forked process."""

    pid: int

    def wait(self) -> int:
        """Its exit code, or the negated number of the signal that ended it."""
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def kill(self) -> None:
        """End it, if it has not been waited for."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


def fork(work: Work) -> Child:
    """Run `work` in a child."""
    pid = os.fork()
    if pid:
        return Child(pid)
    code = FAILED  # whatever happens, the child must not go on as a second pytest
    try:
        work()
        code = DONE
    except CachedError as error:
        print(f"refused: {error.code}: {error}", flush=True)  # noqa: T201  shown when the test fails
        code = REFUSED
    except BaseException:  # noqa: BLE001  as above
        traceback.print_exc()
    finally:
        os._exit(code)


def race(*prepare: Callable[[], Work]) -> list[int]:
    """Each in a child of its own: prepare, and once all are ready go at the same moment. Their exit codes, in order."""
    ready, gate = Pipe(), Pipe()

    def run(one: Callable[[], Work]) -> None:
        gate.close_in()  # it opens when nobody holds this end any more
        work = one()
        os.write(ready.into, b"x")
        os.read(gate.out, 1)
        work()

    children: list[Child] = []
    try:
        children += [fork(functools.partial(run, one)) for one in prepare]
        ready.close_in()
        _await(ready.out, len(children))
        gate.close_in()
        return [child.wait() for child in children]
    finally:
        for child in children:
            child.kill()
        ready.close()
        gate.close()


class Pipe:
    """Two descriptors, each closed once."""

    def __init__(self) -> None:
        self.out, self.into = os.pipe()

    def close_in(self) -> None:
        """The end that is written to."""
        descriptor, self.into = self.into, -1
        if descriptor >= 0:
            os.close(descriptor)

    def close(self) -> None:
        """Both."""
        self.close_in()
        os.close(self.out)


def _await(descriptor: int, count: int) -> None:
    """Until `count` children are ready, or all that are not have ended."""
    while count and (got := os.read(descriptor, count)):
        count -= len(got)
