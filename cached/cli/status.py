"""`cachectl status`: the daemon and its disk in numbers."""

from __future__ import annotations

from cached import human
from cached.api.client import Client
from cached.api.types import Status
from cached.cli.options import SOCKET, Json, Socket
from cached.cli.output import Output, facts


def status(*, socket: Socket = SOCKET, json: Json = False) -> None:
    """Show the daemon: where it listens, its disk, what it stores."""
    answer = Client(socket).status()
    Output(json=json).data(answer, _lines(answer))


def _lines(status: Status) -> list[str]:
    models = ", ".join(f"{count} {state}" for state, count in sorted(status.models.items())) or "none"
    return facts(
        [
            ("version", status.version),
            ("pid", status.pid),
            ("up", human.span(status.uptime)),
            ("root", status.root),
            ("socket", status.socket),
            ("port", status.port),
            ("disk", f"{human.size(status.disk_free)} free of {human.size(status.disk_total)}"),
            ("stored", f"{human.size(status.bytes_blobs)} in {human.count(status.blobs, 'blob')}"),
            ("partial", f"{human.size(status.bytes_partial)} set aside for downloads"),
            ("models", models),
            ("workers", f"{status.workers}, {human.count(status.connections, 'connection')}"),
            ("fetched", f"{human.size(status.fetched_total)} since the start"),
        ]
    )
