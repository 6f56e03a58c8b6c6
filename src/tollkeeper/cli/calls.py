"""Calls: `call show`."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import typer

from tollkeeper.app import office
from tollkeeper.cli.command import command
from tollkeeper.cli.listing import AsJson, fields_of, quota_fields, show_fields, show_json
from tollkeeper.cli.speak import settings_or_complain
from tollkeeper.core.money.amounts import usd_exact
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.ports import NotOnFile, RunningCall

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
    as_json: AsJson = False,
) -> None:
    """The receipt of a call: how it ended, what was counted and how, what it cost and why."""
    async with office(settings_or_complain()) as desk:
        found = await desk.receipts.find(request_id, account_id=account)
    if found is None:
        whose = "" if account is None else f" of account {account}"
        raise NotOnFile(f"There is no call {request_id}{whose}. Receipts of cleaned days are gone from the usage log.")
    if as_json:
        show_json(_record(found))
        return
    show_fields(_lines(found))


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


def _record(found: Receipt | RunningCall) -> dict[str, Any]:
    begun = fields_of(found, "request_id", "account_id", "key_id", "started_at") | quota_fields(held=found.held)
    if isinstance(found, RunningCall):
        return begun | {"state": "under_way"}
    counted = fields_of(found.usage, "input_units", "cached_units", "output_units", "parts")
    price = {"price_id": found.rate.price.id, "model_id": found.rate.price.model_id, "kind": found.kind}
    told = fields_of(found, "settled_at", "ending", "usage_source", "formula", "explanation", "attempts")
    return begun | {"state": "settled"} | price | counted | quota_fields(charged=found.charged) | told
