"""Top-ups: `top-up list`, `revoke`."""

from typing import Annotated, Any

import typer

from tollkeeper.accounts.money.top_ups import revoke_top_up
from tollkeeper.app import office
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, AccountId, Reason, WriteOff
from tollkeeper.cli.listing import AsJson, cash_fields, fields_of, quota_fields, show_list
from tollkeeper.cli.speak import say, settings_or_complain
from tollkeeper.core.money.amounts import usd_exact
from tollkeeper.core.partner.plan import usd_of_micros
from tollkeeper.ports.customers.redemption import TopUp

top_up_app = typer.Typer(help="Top-ups: what redeemed codes became.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(top_up_app, name="top-up")


@top_up_app.command("list")
@command()
async def list_top_ups(account: AccountId, as_json: AsJson = False) -> None:
    """The top-ups of an account, the newest first."""
    async with office(settings_or_complain()) as desk:
        found = await desk.redemptions.top_ups(account)
        if not found:
            await desk.accounts.need(account)
    show_list(
        found,
        head=("top-up", "redeemed", "USD", "as a gift", "lot", "now"),
        line=_line,
        record=_record,
        as_json=as_json,
        none=f"Account {account} has no top-ups.",
    )


@top_up_app.command("revoke")
@command()
async def revoke(
    top_up: Annotated[int, typer.Argument(metavar="TOP_UP", max=MOST_ID, help="The top-up's number.")],
    reason: Reason,
    write_off: WriteOff = False,
) -> None:
    """Take a top-up back whose payment was taken back, with every reward that came of it."""
    why = reason_in(reason)
    async with office(settings_or_complain()) as desk:
        done = await revoke_top_up(top_up, why, desk.codes, write_off=write_off, by=desk.operator)
    if done.before:
        say(f"top-up {top_up} was revoked before")
        return
    taken, owed, let_go = (usd_exact(part) for part in (done.taken_back, done.owed, done.written_off))
    say(f"top-up {top_up} revoked: {taken} USD taken back, {owed} USD owed, {let_go} USD written off")
    say(f"rewards revoked with it: {done.rewards}")


def _line(each: TopUp) -> tuple[str, ...]:
    expires = f"expires {moment(each.lot_expires_at)}"
    now = expires if each.revoked_at is None else f"revoked {moment(each.revoked_at)}"
    return (str(each.id), moment(each.at), usd_of_micros(each.usd_micros), usd_exact(each.gift), str(each.lot_id), now)


def _record(each: TopUp) -> dict[str, Any]:
    amounts = cash_fields(paid=each.usd_micros) | quota_fields(quota=each.quota, gift=each.gift)
    return fields_of(each, "id", "at") | amounts | fields_of(each, "lot_id", "lot_expires_at", "revoked_at")
