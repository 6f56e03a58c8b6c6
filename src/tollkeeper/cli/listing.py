"""Lists and single things, for people at a terminal, for pipes and for programs.

Rules of this file
1. No id, name or figure is ever cut. On a terminal long texts wrap between words; where the columns still do not fit
   beside each other, each row is told as a block, a line for each column.
2. Where standard output is no terminal, a row is a line, and its cells stand between tabs.
3. `--json` is one JSON document: a list has its rows in `data`. Names of fields do not change. An amount is an integer
   of micro-quota (of cash: micro-USD), and beside it text in USD; times are ISO 8601, UTC.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
import typer
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from tollkeeper.cli.speak import plain_console, say
from tollkeeper.core.money.amounts import Quota, usd_exact
from tollkeeper.core.one_line import shown
from tollkeeper.core.partner.plan import usd_of_micros

# Texts up to this long are kept on one line.
ONE_LINE_CHARACTERS = 30
WRAPPED_LEAST_CHARACTERS = 24
# Of a table: what stands between two columns, and at its edges.
BETWEEN, EDGES = 3, 4

AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]

ListedRow = TypeVar("ListedRow")
JsonRecord = Mapping[str, Any]


def show_list(
    rows: Iterable[ListedRow],
    *,
    head: Sequence[str],
    line: Callable[[ListedRow], Sequence[str]],
    record: Callable[[ListedRow], JsonRecord],
    as_json: bool,
    none: str = "",
    more: JsonRecord | None = None,
) -> None:
    """`line`: a row's cells, `record`: its fields in JSON, `none`: said instead of an empty table, `more`: what stands
    beside the rows in JSON."""
    found = list(rows)
    if as_json:
        show_json({"data": [record(row) for row in found], **(more or {})})
    elif found or not none:
        show_table(head, [line(row) for row in found])
    else:
        say(none)


def show_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    console = plain_console()
    rows = [[_cell(cell) for cell in line] for line in lines]
    if not console.is_terminal:
        for row in (head, *rows):
            typer.echo("\t".join(row))
        return
    widths = _widths(head, rows, console.width)
    if widths is None:
        for row in rows:
            _show_block(head, row)
        return
    table = Table()
    for name, width in zip(head, widths, strict=True):
        table.add_column(Text(name), width=width, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table, soft_wrap=False)


def show_fields(fields: Iterable[tuple[str, str]]) -> None:
    """One thing: a line for each field."""
    console, found = plain_console(), [(name, _cell(value)) for name, value in fields]
    if not console.is_terminal:
        for name, value in found:
            typer.echo(f"{name}\t{value}")
        return
    _show_block([name for name, _ in found], [value for _, value in found])


def show_json(document: JsonRecord) -> None:
    text = msgspec.json.format(msgspec.json.encode(document, enc_hook=str), indent=2)
    typer.echo(text.decode())


def fields_of(source: object, *names: str) -> dict[str, Any]:
    """Fields that are called in JSON as they are in the code."""
    return {name: getattr(source, name) for name in names}


def quota_fields(**amounts: int | None) -> dict[str, Any]:
    """`charged=…` becomes `charged_micro_quota` and `charged_usd`."""
    told: dict[str, Any] = {}
    for name, amount in amounts.items():
        told[f"{name}_micro_quota"] = amount
        told[f"{name}_usd"] = None if amount is None else usd_exact(Quota(amount))
    return told


def cash_fields(**amounts: int) -> dict[str, Any]:
    """`paid=…` becomes `paid_micro_usd` and `paid_usd`."""
    told: dict[str, Any] = {}
    for name, amount in amounts.items():
        told[f"{name}_micro_usd"] = amount
        told[f"{name}_usd"] = usd_of_micros(amount)
    return told


def _cell(text: str) -> str:
    return shown(" ".join(text.split("\n")))


def _widths(head: Sequence[str], rows: Sequence[Sequence[str]], within: int) -> list[int] | None:
    """How wide each column is, so that all stand beside each other and nothing is cut; None where that cannot be."""
    columns = [[name, *(row[place] for row in rows)] for place, name in enumerate(head)]
    longest = [max(map(cell_len, column)) for column in columns]
    widths = [_least(column, most) for column, most in zip(columns, longest, strict=True)]
    spare = within - sum(widths) - BETWEEN * (len(columns) - 1) - EDGES
    if spare < 0:
        return None
    for place, most in enumerate(longest):
        added = min(spare, most - widths[place])
        widths[place] += added
        spare -= added
    return widths


def _least(column: Sequence[str], longest: int) -> int:
    if longest <= ONE_LINE_CHARACTERS:
        return longest
    words = max((cell_len(word) for cell in column for word in cell.split()), default=0)
    return max(words, WRAPPED_LEAST_CHARACTERS)


def _show_block(head: Sequence[str], row: Sequence[str]) -> None:
    wide = max(map(cell_len, head), default=0)
    for name, value in zip(head, row, strict=True):
        say(f"{name}{' ' * (wide - cell_len(name))}  {value}".rstrip())
    say("")
