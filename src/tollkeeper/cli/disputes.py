"""Charges that customers hold to be wrong: `dispute list`, `show`, `credit`, `decline`."""

from typing import Annotated, Any
from uuid import UUID, uuid4

import typer

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.acting import perform
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, Reason
from tollkeeper.cli.listing import AsJson, fields_of, quota_fields, show_fields, show_json, show_list
from tollkeeper.cli.pages import LISTED_MOST, every_page
from tollkeeper.cli.speak import say
from tollkeeper.office.disputes import (
    CreditDisputeWish,
    DeclineDisputeWish,
    DisputesWish,
    DisputeView,
    DisputeWish,
    credit_disputed_call,
    decline_disputed_call,
    list_disputes,
    show_dispute,
)

HEAD = ("call", "account", "opened", "what", "USD charged", "now")
CallId = Annotated[UUID, typer.Argument(metavar="ID", help="The x-request-id of the call's answer.")]

dispute_app = typer.Typer(help="Charges that customers hold to be wrong.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(dispute_app, name="dispute")


@dispute_app.command("list")
@command()
async def list_open(
    account: Annotated[int | None, typer.Option(min=1, max=MOST_ID, help="Only those of this account.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that are decided too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Charges that wait for a decision, the newest first."""
    show_list(
        await every_page(list_disputes, DisputesWish(account=account, all=everything), LISTED_MOST),
        head=HEAD,
        line=_line,
        record=_record,
        as_json=as_json,
        none="No charge is disputed.",
    )


@dispute_app.command("show")
@command()
async def show(request_id: CallId, as_json: AsJson = False) -> None:
    """A dispute. The receipt of the call is shown by `call show`."""
    found = await perform(show_dispute, DisputeWish(request_id=request_id))
    dispute, receipt = found.dispute, found.call and found.call.receipt
    if as_json:
        show_json(_record(dispute) | {"proposed_reason": found.proposed_reason})
        return
    told = [*zip(HEAD, _line(dispute), strict=True), ("in their words", dispute.note or "nothing")]
    if receipt:
        told += [("receipt", receipt.explanation), ("formula", receipt.formula)]
    show_fields(told)
    if dispute.decided_by:
        say(f"{dispute.state.value} by {dispute.decided_by}: {dispute.reason}")


@dispute_app.command("credit")
@command()
async def credit(
    request_id: CallId,
    reason: Reason,
    usd: Annotated[str, typer.Option(help="How much of the charge. Without it: all of it.")] = "",
) -> None:
    """Give a disputed charge back. A call is credited once, and never more than was charged."""
    wish = CreditDisputeWish(once=str(uuid4()), request_id=request_id, usd=usd, reason=reason_in(reason))
    done = await perform(credit_disputed_call, wish)
    when = "was credited before: nothing was done now" if done.was_before else "credited"
    say(f"{done.credited.usd} USD of call {request_id} {when} (lot {done.lot})")


@dispute_app.command("decline")
@command()
async def decline(request_id: CallId, reason: Reason) -> None:
    """Leave the charge as it is. The customer reads the reason on the receipt."""
    wish = DeclineDisputeWish(request_id=request_id, reason=reason_in(reason))
    done = await perform(decline_disputed_call, wish)
    say(f"dispute of call {done.request_id} declined")


def _line(each: DisputeView) -> tuple[str, ...]:
    now = f"credited {each.credited.usd} USD" if each.credited else each.state.value
    what = each.kind.value.replace("_", " ")
    return (str(each.request_id), str(each.account), moment(each.opened_at), what, each.charged.usd, now)


def _record(each: DisputeView) -> dict[str, Any]:
    told = fields_of(
        each, "id", "request_id", "kind", "note", "opened_at", "state", "decided_at", "decided_by", "reason"
    )
    amounts = quota_fields(
        charged=each.charged.micro_quota, credited=None if each.credited is None else each.credited.micro_quota
    )
    return {"account_id": each.account, "lot_id": each.lot} | told | amounts
