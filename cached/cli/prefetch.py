"""`cachectl prefetch`: ask for a model and, unless told otherwise, watch it arrive."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from msgspec.structs import replace

from cached import human
from cached.api.client import Client
from cached.api.types import ModelView, Want
from cached.cli.follow import Follower
from cached.cli.options import SOCKET, Json, Socket, Timeout, digests_of, name_of, seconds_of, uri_of
from cached.cli.output import Output, facts
from cached.cli.report import reporter
from cached.errors import CachedError, Code, Exit, Retryable
from cached.types import State

Where = Annotated[str, typer.Argument(metavar="URI", help="s3://bucket/path, https://host/file, file:///folder.")]
As = Annotated[str | None, typer.Option("--name", help="Publish it as models/NAME.  [default: made from the URI]")]
Move = Annotated[bool, typer.Option("--move", help="Let a name that stands for another URI turn to this.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Watch until it is Ready, or return at once.")]
Sha256 = Annotated[
    list[str] | None,
    typer.Option("--sha256", metavar="PATH=HEX", help="A file's content must have this digest. Repeatable."),
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="PATTERN", help="Take only files that match, as *.safetensors. Repeatable."),
]
Ignore = Annotated[
    list[str] | None, typer.Option("--ignore", metavar="PATTERN", help="Leave out files that match. Repeatable.")
]


def prefetch(  # noqa: PLR0913  a command's options are its parameters
    uri: Where,
    *,
    name: As = None,
    move: Move = False,
    wait: Wait = True,
    timeout: Timeout = None,
    sha256: Sha256 = None,
    allow: Allow = None,
    ignore: Ignore = None,
    socket: Socket = SOCKET,
    json: Json = False,
) -> None:
    """Bring a model to this node: fetched once, verified, published as a plain folder.

    Ends with the path to mount, the bytes fetched, the bytes that were here already, and how well it was
    verified. Ctrl-C and --timeout end the watching; the download goes on in the daemon.
    """
    want = Want(
        uri=uri_of(uri),
        name=name_of(name) if name is not None else None,
        sha256=digests_of(sha256 or []),
        allow=tuple(allow or ()),
        ignore=tuple(ignore or ()),
    )
    limit = seconds_of(timeout)
    begun = time.monotonic()
    output, daemon = Output(json=json), Client(socket)
    model = daemon.prefetch(want, move=move)
    if model.state is State.READY:
        model = replace(model, bytes_fetched=0, bytes_reused=model.bytes_total)  # this call moved nothing
    elif wait:
        model = _watch(daemon, model, output, deadline=None if limit is None else begun + limit)
    output.data(_result(model), _summary(model, time.monotonic() - begun))


def _watch(daemon: Client, model: ModelView, output: Output, *, deadline: float | None) -> ModelView:
    try:
        with reporter(output) as report:
            return Follower(daemon, model.name, report).run(deadline=deadline)
    except KeyboardInterrupt:
        output.farewell(f"{model.name} goes on downloading in the daemon: {_next_steps(model)}")
        raise typer.Exit(Exit.INTERRUPTED) from None
    except Retryable as error:
        if error.code is not Code.TIMEOUT:
            raise
        raise CachedError(
            f"{model.name} was not Ready in the time given; it goes on downloading in the daemon",
            code=Code.TIMEOUT,
            hint=_next_steps(model),
        ) from error


def _next_steps(model: ModelView) -> str:
    return f"`cachectl wait {model.name}` watches it, `cachectl rm {model.name}` stops it"


def _result(model: ModelView) -> dict[str, object]:
    return {
        "name": model.name,
        "uri": model.uri,
        "revision": model.revision,
        "tree": model.tree,
        "path": model.path,
        "state": model.state,
        "bytes_total": model.bytes_total,
        "bytes_fetched": model.bytes_fetched,
        "bytes_reused": model.bytes_reused,
        "verified": model.verified,
    }


def _summary(model: ModelView, took: float) -> list[str]:
    if model.state is not State.READY:
        return facts([("name", model.name), ("state", model.state), ("next", _next_steps(model))])
    return facts(
        [
            ("name", model.name),
            ("mount", model.path),
            ("fetched", f"{human.size(model.bytes_fetched)} in {human.span(took)}"),
            ("here before", human.size(model.bytes_reused)),
            ("verified", model.verified),
            *(("note", note) for note in model.notes),
        ]
    )
