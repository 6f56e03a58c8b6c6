"""How commands talk to people: results to standard output, complaints to standard error."""

import os
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tollkeeper.core.one_line import shown
from tollkeeper.settings import Settings, load


class Mistake(Exception):
    """Something that whoever typed the command can mend; the message says what. It is told in red, without more."""


class PlainConsole(Console):
    """Shows no control character but those of its own styles: what is told may be a customer's text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(shown(segment.text), segment.style)


def say(text: str) -> None:
    _console().print(text, markup=False)


def show(table: Table) -> None:
    for column in table.columns:
        # Before their widths are measured; there is no other way to the cells of a table.
        column._cells[:] = map(_plain, column._cells)  # noqa: SLF001
    _console().print(table)


def _plain(cell: RenderableType) -> RenderableType:
    if isinstance(cell, Text):
        cell.plain = shown(cell.plain)
    return shown(cell) if isinstance(cell, str) else cell


def complain(text: str) -> None:
    _console(stderr=True).print(text, style="red", markup=False)


def settings_or_complain() -> Settings:
    return load(os.environ)


def _console(*, stderr: bool = False) -> Console:
    """As wide as the terminal is now."""
    return PlainConsole(stderr=stderr, highlight=False, soft_wrap=True)
