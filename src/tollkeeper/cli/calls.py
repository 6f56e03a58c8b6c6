"""Calls: `call show`."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

import typer
from rich.table import Table

from tollkeeper.app import opened
from tollkeeper.cli.command import command
from tollkeeper.cli.speak import settings_or_complain, show
from tollkeeper.core.money import usd_exact
from tollkeeper.core.receipt import Receipt
from tollkeeper.ports import NotOnFile, RunningCall
from tollkeeper.storage.database import Part
from tollkeeper.storage.receipts import SqlReceipts

call_app = typer.Typer(help="Single calls.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(call_app, name="call")


@call_app.callback()
def calls() -> None:
    """Single calls."""


@call_app.command("show")
@command()
async def show_call(
    request_id: Annotated[UUID, typer.Argument(metavar="ID", help="The x-request-id of the call's answer.")],
    account: Annotated[
        int | None, typer.Option(help="Show it only if it is this account's: for answering its owner.")
    ] = None,
) -> None:
    """The receipt of a call: how it ended, what was counted and how, what it cost and why."""
    async with opened(settings_or_complain(), Part.CONSOLE) as database:
        found = await SqlReceipts(database).find(request_id, account_id=account)
    if found is None:
        whose = "" if account is None else f" of account {account}"
        raise NotOnFile(f"There is no call {request_id}{whose}. Receipts of cleaned days are gone from the usage log.")
    table = Table(show_header=False, box=None)
    for name, value in _lines(found):
        table.add_row(name, value)
    show(table)


def _lines(found: Receipt | RunningCall) -> list[tuple[str, str]]:
    begun = [("call", str(found.request_id)), ("account", str(found.account_id))]
    if isinstance(found, RunningCall):
        since = found.started_at.isoformat(timespec="milliseconds")
        return [*begun, ("state", f"under way since {since}, holding {usd_exact(found.held)} USD")]
    price, lasted = found.rate.price, found.settled_at - found.started_at
    return [
        *begun,
        ("key", str(found.key_id)),
        ("model", price.model_id),
        ("price", f"row {price.id} of the price book, in force since {price.effective_from.isoformat()}"),
        ("charge", f"{found.charged_usd} USD"),
        ("formula", found.formula),
        ("why", found.explanation),
        ("ending", found.ending.value),
        ("usage", found.usage_source.value),
        ("held", f"{usd_exact(found.held)} USD until settled"),
        ("begun", found.started_at.isoformat(timespec="milliseconds")),
        ("settled", f"{found.settled_at.isoformat(timespec='milliseconds')}, {lasted.total_seconds():.3f} s later"),
        *((f"attempt {place}", _attempt(attempt)) for place, attempt in enumerate(found.attempts, 1)),
    ]


def _attempt(attempt: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in attempt.items())
