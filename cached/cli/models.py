"""`cachectl ls`, `show`, `path`, `rm`: what is here, where, and dropping it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import typer

from cached import human
from cached.api.client import Client
from cached.api.types import FileView, ModelDetail, ModelList, ModelView
from cached.cli.options import SOCKET, Json, Name, Socket, name_of, uri_of
from cached.cli.output import Output, facts, table
from cached.errors import NotFound
from cached.layout import slug
from cached.types import ModelName, State


def ls(*, socket: Socket = SOCKET, json: Json = False) -> None:
    """List the models of this node."""
    models = Client(socket).models()
    rows = [
        (model.name, model.state, human.size(model.bytes_total), _done(model), model.verified or "-", model.uri)
        for model in models
    ]
    output = Output(json=json)
    if not rows:
        output.talk("no models; `cachectl prefetch URI` asks for one")
    head = ("NAME", "STATE", "SIZE", "DONE", "VERIFIED", "URI")
    output.data(ModelList(models=models), table(head, rows) if rows else [])


def show(name: Name, *, socket: Socket = SOCKET, json: Json = False) -> None:
    """Show a model: its state and why, its revision, its files and how each was verified."""
    detail = Client(socket).model(name_of(name))
    Output(json=json).data(detail, _story(detail))


def path(
    target: str = typer.Argument(metavar="NAME|URI", help="A model's name, or the URI that it was prefetched from."),
    *,
    socket: Socket = SOCKET,
    json: Json = False,
) -> None:
    """Print the folder of a model that is Ready; exit code 3 for any other."""
    matches, hint = _matcher(target)
    model = min(filter(matches, Client(socket).models()), key=_rank, default=None)
    if model is None:
        raise NotFound(f"no model here answers to {target}", hint=hint)
    if model.state is not State.READY:
        raise NotFound(
            f"{model.name} is not here yet: it is {model.state}" + (f"\n{model.message}" if model.message else ""),
            hint=f"`cachectl wait {model.name}` waits for it, `cachectl show {model.name}` tells more",
        )
    Output(json=json).data({"name": model.name, "path": model.path}, [model.path])


def rm(name: Name, *, socket: Socket = SOCKET, json: Json = False) -> None:
    """Drop a model's name, and its download if one is running; bytes that no other name needs go at once."""
    removed = Client(socket).remove(name_of(name))
    Output(json=json).data(removed, [f"removed {removed.name}, {human.size(removed.bytes_freed)} freed"])


def _matcher(target: str) -> tuple[Callable[[ModelView], bool], str]:
    """Whether a model answers to this name or URI, and what to do when none does. Raises typer.BadParameter."""
    if "://" in target:
        uri = uri_of(target)
        return lambda model: model.uri == uri, f"`cachectl prefetch {uri}` asks for it"
    name = name_of(target)
    return lambda model: model.name == name, "`cachectl ls` shows what is here"


def _rank(model: ModelView) -> tuple[bool, bool, ModelName]:
    """Of several names for one URI the default comes first, then one that is Ready."""
    return model.name != slug(model.uri), model.state is not State.READY, model.name


def _done(model: ModelView) -> str:
    return human.percent(model.bytes_done, model.bytes_total) if model.files_total else "-"


def _story(detail: ModelDetail) -> list[str]:
    model = detail.model
    lines = facts(
        [
            ("name", model.name),
            ("uri", model.uri),
            ("state", model.state),
            ("reason", model.reason),
            ("message", model.message),
            ("hint", model.hint),
            ("path", model.path if model.state is State.READY else None),
            ("revision", model.revision),
            ("tree", model.tree),
            ("verified", model.verified),
            (
                "size",
                f"{human.size(model.bytes_total)} in {human.count(model.files_total, 'file')}"
                if model.files_total
                else None,
            ),
            ("done", _done(model) if model.state is not State.READY else None),
            ("fetched", human.size(model.bytes_fetched)),
            ("reused", human.size(model.bytes_reused)),
            *(("note", note) for note in model.notes),
        ]
    )
    return [*lines, "", *_files(detail.files)] if detail.files else lines


def _files(files: Iterable[FileView]) -> list[str]:
    rows = [
        (human.size(each.size), human.percent(each.done, each.size), each.verified or "-", each.path) for each in files
    ]
    return table(("SIZE", "DONE", "VERIFIED", "FILE"), rows)
