"""`cached serve`: the daemon. The one command that loads the service, and only when it is run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from cached.config import Config, load_config
from cached.errors import Exit


def serve(
    *,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="YAML settings.  [default: /etc/cached/config.yaml]")
    ] = None,
    root: Annotated[Path | None, typer.Option("--root", metavar="DIR", help="The cache root.")] = None,
    socket: Annotated[
        Path | None, typer.Option("--socket", metavar="PATH", envvar="CACHED_SOCKET", help="The API's unix socket.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="Port of metrics, health and the status page; 0 picks one."),
    ] = None,
) -> None:
    """Run the cache daemon of this node until SIGTERM. Options win over the settings file.

    Prints one line of JSON with its socket and port, also kept in <root>/endpoint.json. A second signal ends it
    at once; whatever is under way resumes at the next start.
    """
    from cached.service.run import run

    run(_effective(load_config(config), root=root, socket=socket, port=port))
    # All is stopped and closed. Threads that still wait for a server's answer must not hold up the end.
    sys.stdout.flush()
    os._exit(Exit.OK)


def _effective(config: Config, *, root: Path | None, socket: Path | None, port: int | None) -> Config:
    """Absolute paths: others read them from answers and endpoint.json, from other folders."""
    return replace(
        config,
        root=str(Path(root or config.root).absolute()),
        socket=str(Path(socket or config.socket).absolute()),
        port=config.port if port is None else port,
    )
