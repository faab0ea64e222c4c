"""The programs `cached` and `cachectl`: which commands there are, and how a command's end becomes an exit code.

What a command needs is loaded when it runs: `cachectl ls` must start within 200 ms of bare Python.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable
from typing import Annotated

import click
import typer

import cached
from cached.cli import models, prefetch, serve, settings, status, wait
from cached.cli.output import Output, give_up
from cached.errors import CachedError, Exit, Permanent

CACHECTL: dict[Callable[..., None], str] = {
    prefetch.prefetch: """\
cachectl prefetch s3://models/llama-3-70b/v4 --name llama-3-70b
cachectl prefetch https://host/model.safetensors --sha256 model.safetensors=9f86d0...
cachectl prefetch s3://models/llama --allow '*.safetensors' --allow '*.json' --no-wait""",
    models.ls: """\
cachectl ls
cachectl ls --json | jq -r '.models[] | select(.state == "Ready") | .path'""",
    models.show: """\
cachectl show llama-3-70b""",
    models.path: """\
vllm serve "$(cachectl path llama-3-70b)"
cachectl path s3://models/llama-3-70b/v4""",
    wait.wait: """\
cachectl wait llama-3-70b --timeout 2h
cachectl wait /mnt/models""",
    models.rm: """\
cachectl rm llama-3-70b""",
    status.status: """\
cachectl status
cachectl status --json | jq .disk_free""",
    settings.config: """\
cachectl config --defaults > config.yaml
cachectl config --config config.yaml""",
}
"""The commands of `cachectl`, each with its examples."""
CACHED: dict[Callable[..., None], str] = {
    serve.serve: """\
cached serve --root /var/lib/cached
cached serve --config config.yaml --port 0""",
}


def cachectl_main() -> None:
    """The console script `cachectl`."""
    sys.exit(run("cachectl", sys.argv[1:]))


def cached_main() -> None:
    """The console script `cached`."""
    sys.exit(run("cached", sys.argv[1:]))


def run(program: str, arguments: list[str]) -> int:
    """Run one command line; its exit code (`cached.errors.Exit`)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    output = Output(json="--json" in arguments)
    try:
        result = _command(program).main(arguments, prog_name=program, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as help_text:
        click.echo(help_text.format_message(), err=True)
        return Exit.USAGE
    except click.UsageError as error:
        output.error(_usage(error, program))
        return Exit.USAGE
    except CachedError as error:
        output.error(error)
        return error.exit_code
    except click.Abort:
        return Exit.INTERRUPTED
    except SystemExit:  # all that click makes of a reader that left
        give_up(sys.stdout)
        return Exit.NO_READER
    except OSError as error:
        if error.filename is not None:  # not stdout's: what touches files maps its errors itself
            raise
        give_up(sys.stdout)
        output.error(CachedError(f"cannot write to stdout: {error.strerror}", hint="what was printed is not whole"))
        return Exit.FAILED
    return int(result or Exit.OK)


def _usage(error: click.UsageError, program: str) -> Permanent:
    path = error.ctx.command_path if error.ctx else program
    return Permanent(error.format_message(), hint=f"`{path} --help` shows what is allowed, with examples")


def _command(program: str) -> click.Command:
    commands, text = {
        "cachectl": (CACHECTL, "Bring model weights to this node, and see what is here."),
        "cached": (CACHED, "The model cache daemon of a node. Its command line is `cachectl`."),
    }[program]
    app = typer.Typer(
        help=text,
        rich_markup_mode=None,  # plain help; rich is not loaded for it
        add_completion=False,
        no_args_is_help=True,
        suggest_commands=False,  # click does, from 8.4 on
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for function, examples in commands.items():
        app.command(epilog=_examples(examples.splitlines()))(function)
    return typer.main.get_command(app)


def _examples(lines: Iterable[str]) -> str:
    """In click's form for text that is not to be wrapped again."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {line}" for line in lines)])


def _print_version(wanted: bool) -> None:  # noqa: FBT001  Typer's form
    if wanted:
        click.echo(f"{click.get_current_context().info_name} {cached.__version__}")
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version  # its callback has done the work
