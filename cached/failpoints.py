"""Named places where a test makes the process die or fail.

`CACHED_FAILPOINTS="seal.after_sync=1*kill;fsops.write=3*enospc"`: the Nth time that place is reached, the
action happens (once). Actions: `kill` (SIGKILL to this process), `enospc` and `eio` (the OSError that
the kernel would raise), `pause:<seconds>`. Without the variable `hit` costs one dictionary test.
"""

from __future__ import annotations

import errno
import os
import signal
import time

VARIABLE = "CACHED_FAILPOINTS"


def _parse(text: str) -> dict[str, tuple[int, str]]:
    points: dict[str, tuple[int, str]] = {}
    for item in filter(None, (part.strip() for part in text.split(";"))):
        name, _, spec = item.partition("=")
        count, _, action = spec.partition("*")
        if not (name and count.isdigit() and action):
            raise ValueError(f"{VARIABLE}: {item!r} is not name=count*action")
        points[name] = (int(count), action)
    return points


_armed = _parse(os.environ.get(VARIABLE, ""))


def hit(name: str) -> None:
    """Carry out what is armed for `name`, on its Nth call. Raises OSError for enospc and eio."""
    if not _armed or name not in _armed:
        return
    left, action = _armed[name]
    if left > 1:
        _armed[name] = (left - 1, action)
        return
    del _armed[name]
    _act(action, name)


def _act(action: str, name: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action in {"enospc", "eio"}:
        code = errno.ENOSPC if action == "enospc" else errno.EIO
        raise OSError(code, os.strerror(code), f"failpoint {name}")
    elif action.startswith("pause:"):
        time.sleep(float(action.removeprefix("pause:")))
    else:
        raise ValueError(f"{VARIABLE}: unknown action {action!r} at {name}")
