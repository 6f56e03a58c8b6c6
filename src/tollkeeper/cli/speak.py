"""How commands talk to people: results to standard output, complaints to standard error."""

import os

from rich.console import Console
from rich.table import Table

from tollkeeper.settings import Settings, load

_out = Console(highlight=False, soft_wrap=True)
_err = Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    _out.print(text, markup=False)


def show(table: Table) -> None:
    _out.print(table)


def complain(text: str) -> None:
    _err.print(text, style="red", markup=False)


def settings_or_complain() -> Settings:
    return load(os.environ)
