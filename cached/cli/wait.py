"""`cachectl wait`: block until a model, or a folder, is there. Made for init containers and scripts."""

from __future__ import annotations

import os
import time
from pathlib import Path

import typer

from cached.api.client import Client
from cached.cli.follow import Follower
from cached.cli.options import SOCKET, Json, Socket, Timeout, name_of, seconds_of
from cached.cli.output import Output
from cached.cli.report import reporter
from cached.errors import Code, NotAuthorized, Permanent, Retryable

POLL = 0.25
"""Seconds between two looks at a folder. A watch would not see a mount that is put over it."""


def wait(
    target: str = typer.Argument(metavar="TARGET", help="A model's name; with a `/` in it, a folder."),
    *,
    timeout: Timeout = None,
    socket: Socket = SOCKET,
    json: Json = False,
) -> None:
    """Wait until a model is Ready, or a folder exists and holds something.

    A folder needs no daemon: the published `models/<name>`, or the place where a pod mounts it. Exit code 8 when
    the time is over; when the model failed, the code of its reason.
    """
    limit = seconds_of(timeout)
    deadline = None if limit is None else time.monotonic() + limit
    output = Output(json=json)
    if "/" in target:
        _wait_for_folder(Path(target), deadline)
        output.data({"path": target}, [target])
        return
    with reporter(output) as report:
        model = Follower(Client(socket), name_of(target), report).run(deadline=deadline)
    output.data(model, [model.path])


def _wait_for_folder(folder: Path, deadline: float | None) -> None:
    while not _holds_something(folder):
        if deadline is not None and time.monotonic() >= deadline:
            raise Retryable(
                f"{folder} did not appear in the time given",
                code=Code.TIMEOUT,
                hint="`cachectl ls` on the node shows what it is waiting for",
            )
        time.sleep(POLL)


def _holds_something(folder: Path) -> bool:
    """Trees appear whole, so one entry is enough; a mount point without its mount is an empty folder."""
    try:
        with os.scandir(folder) as entries:
            return any(True for _ in entries)
    except FileNotFoundError:
        return False
    except PermissionError as error:
        raise NotAuthorized(f"no permission to read {folder}", hint="run as a user that may") from error
    except OSError as error:
        raise Permanent(f"cannot wait for {folder}: {error.strerror}", hint="name a folder") from error
