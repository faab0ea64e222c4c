"""Options that several commands share, and how their text becomes checked values: each wrong one is a usage
error that says what is allowed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cached.config import DEFAULT_SOCKET, Seconds
from cached.types import Digest, ModelName, Uri

Json = Annotated[bool, typer.Option("--json", help="Print data as JSON on stdout; errors as JSON on stderr.")]
Socket = Annotated[
    Path, typer.Option("--socket", envvar="CACHED_SOCKET", help="The daemon's unix socket.", show_default=True)
]
SOCKET: Path = DEFAULT_SOCKET
Timeout = Annotated[
    str | None,
    typer.Option("--timeout", metavar="TIME", help="Give up waiting after this long (30, 90s, 10m, 2h); exit code 8."),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A model's name, as `cachectl ls` prints it.")]


def name_of(text: str) -> ModelName:
    """Raises typer.BadParameter."""
    try:
        return ModelName(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def uri_of(text: str) -> Uri:
    """Raises typer.BadParameter, for a local path with the URI that it may stand for."""
    try:
        return Uri(text)
    except ValueError as error:
        if text.startswith(("/", "./", "../", "~")):
            path = Path(text).expanduser().absolute()
            raise typer.BadParameter(f"{text!r} is a path; did you mean file://{path} ?") from error
        raise typer.BadParameter(str(error)) from error


def seconds_of(text: str | None) -> float | None:
    """Raises typer.BadParameter."""
    try:
        return None if text is None else Seconds(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--timeout") from error


def digests_of(pairs: list[str]) -> dict[str, Digest]:
    """PATH=HEX by path; the path may hold `=` itself. Raises typer.BadParameter."""
    digests: dict[str, Digest] = {}
    for pair in pairs:
        path, equals, digest = pair.rpartition("=")
        if not equals or not path:
            raise typer.BadParameter(f"{pair!r} is not PATH=HEX", param_hint="--sha256")
        try:
            value = Digest(digest.lower())
        except ValueError as error:
            raise typer.BadParameter(f"{path}: {error}", param_hint="--sha256") from error
        if digests.setdefault(path, value) != value:
            raise typer.BadParameter(f"two digests for {path}", param_hint="--sha256")
    return digests
