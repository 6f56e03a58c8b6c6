"""Top-ups: `top-up list`, `show`, `revoke`."""

from typing import Annotated, Any
from uuid import uuid4

import typer

from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.acting import perform
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, AccountId, Reason, WriteOff
from tollkeeper.cli.listing import AsJson, cash_fields, fields_of, quota_fields, show_fields, show_json, show_list
from tollkeeper.cli.pages import LISTED_MOST, every_page
from tollkeeper.cli.speak import say
from tollkeeper.office.top_ups import (
    RevokeTopUp,
    TopUpNumber,
    TopUpsWish,
    TopUpView,
    list_top_ups,
    revoke_top_up,
    show_top_up,
)

HEAD = ("top-up", "redeemed", "USD", "as a gift", "lot", "now")
TopUpId = Annotated[int, typer.Argument(metavar="TOP_UP", max=MOST_ID, help="The top-up's number.")]

top_up_app = typer.Typer(help="Top-ups: what redeemed codes became.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(top_up_app, name="top-up")


@top_up_app.command("list")
@command()
async def list_of_account(account: AccountId, as_json: AsJson = False) -> None:
    """The top-ups of an account, the newest first."""
    show_list(
        await every_page(list_top_ups, TopUpsWish(account=account), LISTED_MOST),
        head=HEAD,
        line=_line,
        record=_record,
        as_json=as_json,
        none=f"Account {account} has no top-ups.",
    )


@top_up_app.command("show")
@command()
async def show(top_up: TopUpId, as_json: AsJson = False) -> None:
    """A top-up: what was paid, what it brought, and what became of it where it was revoked."""
    found = await perform(show_top_up, TopUpNumber(top_up=top_up))
    if as_json:
        taken = {name: getattr(found, name) for name in ("taken_back", "owed", "written_off")}
        parts = quota_fields(**{name: amount and amount.micro_quota for name, amount in taken.items()})
        whose = {"account_id": found.account, "batch_id": found.batch}
        show_json(whose | _record(found) | fields_of(found, "revoked_by", "revoke_reason") | parts)
        return
    show_fields([("account", str(found.account)), ("batch", str(found.batch)), *zip(HEAD, _line(found), strict=True)])
    if found.taken_back and found.owed and found.written_off:
        say(f"revoked by {found.revoked_by}: {found.revoke_reason}")
        say(
            f"{found.taken_back.usd} USD taken back, {found.owed.usd} USD owed, {found.written_off.usd} USD written off"
        )


@top_up_app.command("revoke")
@command()
async def revoke(top_up: TopUpId, reason: Reason, write_off: WriteOff = False) -> None:
    """Take a top-up back whose payment was taken back, with every reward that came of it."""
    wish = RevokeTopUp(once=str(uuid4()), reason=reason_in(reason), top_up=top_up, write_off=write_off)
    done = await perform(revoke_top_up, wish)
    if done.was_before:
        say(f"top-up {top_up} was revoked before")
        return
    taken, owed, let_go = (part.usd for part in (done.taken_back, done.owed, done.written_off))
    say(f"top-up {top_up} revoked: {taken} USD taken back, {owed} USD owed, {let_go} USD written off")
    say(f"rewards revoked with it: {done.rewards}")


def _line(each: TopUpView) -> tuple[str, ...]:
    expires = f"expires {moment(each.lot_expires_at)}"
    now = expires if each.revoked_at is None else f"revoked {moment(each.revoked_at)}"
    return (str(each.id), moment(each.at), each.paid.usd, each.gift.usd, str(each.lot), now)


def _record(each: TopUpView) -> dict[str, Any]:
    quota = quota_fields(quota=each.quota.micro_quota, gift=each.gift.micro_quota)
    lot = {"lot_id": each.lot} | fields_of(each, "lot_expires_at", "revoked_at")
    return fields_of(each, "id", "at") | cash_fields(paid=each.paid.micro_usd) | quota | lot
