"""`settings`: what is set, by what, and what it is for."""

import typer

from tollkeeper.app.office import settings_in_force
from tollkeeper.cli.command import command
from tollkeeper.cli.listing import AsJson, fields_of, show_list
from tollkeeper.cli.speak import settings_or_complain


def register(app: typer.Typer) -> None:
    app.command()(settings)


@command()
def settings(as_json: AsJson = False) -> None:
    """Show every setting, its value, and what it is for."""
    show_list(
        settings_in_force(settings_or_complain()),
        head=("variable", "value", "set by", "what it is for"),
        line=lambda row: (row.variable, row.value, row.set_by, row.what_for),
        record=lambda row: fields_of(row, "variable", "value", "set_by", "what_for"),
        as_json=as_json,
    )
