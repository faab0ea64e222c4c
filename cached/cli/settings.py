"""`cachectl config`: the settings that a daemon would run with, and every key there is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cached import codec
from cached.cli.options import Json
from cached.cli.output import Output
from cached.config import Config, load_config


def config(
    *,
    file: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="YAML settings.  [default: /etc/cached/config.yaml]")
    ] = None,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Print every key with its default and what it means, as YAML to edit.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the settings in effect (the file over the defaults), checked as `cached serve` checks them."""
    from cached.cli import settings_text  # loads the YAML writer

    if defaults:
        text = settings_text.documented_defaults()
        Output(json=json).data(codec.to_builtins(Config()), text.splitlines())
        return
    settings = codec.to_builtins(load_config(file))
    Output(json=json).data(settings, settings_text.as_yaml(settings).splitlines())
