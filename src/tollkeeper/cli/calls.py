"""Calls: `call show`."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import typer

from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID
from tollkeeper.cli.listing import AsJson, fields_of, quota_fields, show_fields, show_json
from tollkeeper.office.calls import CallReceipt, CallView, CallWish
from tollkeeper.office.calls import show_call as find_call

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
        int | None, typer.Option(max=MOST_ID, help="Show it only if it is this account's: for answering its owner.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The receipt of a call: how it ended, what was counted and how, what it cost and why; or why it was refused."""
    found = await perform(find_call, CallWish(request_id=request_id, account=account))
    if as_json:
        show_json(_record(found))
        return
    show_fields(_lines(found))


def _lines(found: CallView) -> list[tuple[str, str]]:
    lines = [("call", str(found.request_id)), ("account", str(found.account))]
    if found.refusal is not None:
        refused = f"refused {found.refusal.at.isoformat(timespec='milliseconds')}, nothing was charged"
        told = [("state", refused), ("code", found.refusal.code), ("why", found.refusal.meaning)]
        return [*lines, ("key", str(found.key)), *told]
    held = "" if found.held is None else found.held.usd
    begun = "" if found.started_at is None else found.started_at.isoformat(timespec="milliseconds")
    if found.receipt is None:
        return [*lines, ("state", f"under way since {begun}, holding {held} USD")]
    return [*lines, ("key", str(found.key)), *_receipt_lines(found, found.receipt, held, begun)]


def _receipt_lines(found: CallView, receipt: CallReceipt, held: str, begun: str) -> list[tuple[str, str]]:
    seconds = (receipt.settled_at - (found.started_at or receipt.settled_at)).total_seconds()
    return [
        ("model", receipt.model),
        ("price", f"row {receipt.price} of the price book, in force since {receipt.price_since.isoformat()}"),
        ("charge", f"{receipt.charged.usd} USD"),
        ("formula", receipt.formula),
        ("why", receipt.explanation),
        ("ending", receipt.ending.value),
        ("usage", receipt.usage_source.value),
        ("held", f"{held} USD until settled"),
        ("begun", begun),
        ("settled", f"{receipt.settled_at.isoformat(timespec='milliseconds')}, {seconds:.3f} s later"),
        *((f"attempt {place}", _attempt(attempt)) for place, attempt in enumerate(receipt.attempts, 1)),
    ]


def _attempt(attempt: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in attempt.items())


def _record(found: CallView) -> dict[str, Any]:
    whose = {"request_id": found.request_id, "account_id": found.account, "key_id": found.key}
    if found.refusal is not None:
        return (
            whose | {"state": found.state, "refused_at": found.refusal.at} | fields_of(found.refusal, "code", "meaning")
        )
    begun = whose | {"started_at": found.started_at} | quota_fields(held=found.held.micro_quota if found.held else None)
    receipt = found.receipt
    if receipt is None:
        return begun | {"state": found.state}
    counted = fields_of(receipt, "input_units", "cached_units", "output_units", "parts")
    price = {"price_id": receipt.price, "model_id": receipt.model, "kind": receipt.kind}
    told = fields_of(receipt, "settled_at", "ending", "usage_source", "formula", "explanation", "attempts")
    charged = quota_fields(charged=receipt.charged.micro_quota)
    return begun | {"state": found.state} | price | counted | charged | told
