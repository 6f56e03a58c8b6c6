"""The command line: one file per family of commands, loaded when it is used."""

from typing import Annotated

import typer

from tollkeeper import __version__
from tollkeeper.cli.families import Families, LightCommand
from tollkeeper.core_dumps import forbid_core_dumps

app = typer.Typer(
    cls=Families,
    help="Tollkeeper: a model gateway that keeps honest books.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=say_version, help="Say which version this is.")
    ] = False,
) -> None:
    """Options before any command."""


@app.command(cls=LightCommand)
def version() -> None:
    """Say which version this is."""
    typer.echo(__version__)


def run() -> None:
    # Before any secret is read. `serve` and `work` allow more where the settings say so.
    forbid_core_dumps()
    app()
