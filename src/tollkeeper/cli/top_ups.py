"""Top-ups: `top-up list`, `revoke`."""

from typing import Annotated

import typer
from rich.table import Table

from tollkeeper.accounts.top_ups import revoke_top_up
from tollkeeper.app import office
from tollkeeper.cli.abuse_words import moment
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, AccountId
from tollkeeper.cli.speak import say, settings_or_complain, show
from tollkeeper.core.money import usd_exact
from tollkeeper.core.referral import usd_of_micros

top_up_app = typer.Typer(help="Top-ups: what redeemed codes became.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(top_up_app, name="top-up")


@top_up_app.command("list")
@command()
async def list_top_ups(account: AccountId) -> None:
    """The top-ups of an account, the newest first."""
    async with office(settings_or_complain()) as desk:
        found = await desk.redemptions.top_ups(account)
    if not found:
        say(f"Account {account} has no top-ups.")
        return
    table = Table("top-up", "redeemed", "USD", "as a gift", "lot", "now")
    for each in found:
        now = (
            f"expires {moment(each.lot_expires_at)}"
            if each.revoked_at is None
            else f"revoked {moment(each.revoked_at)}"
        )
        amounts = (usd_of_micros(each.usd_micros), usd_exact(each.gift))
        table.add_row(str(each.id), moment(each.at), *amounts, str(each.lot_id), now)
    show(table)


@top_up_app.command("revoke")
@command()
async def revoke(
    top_up: Annotated[int, typer.Argument(metavar="TOP_UP", max=MOST_ID, help="The top-up's number.")],
    reason: Annotated[str, typer.Option(help="Why; it stays on the record.")],
    write_off: Annotated[
        bool, typer.Option("--write-off", help="Let go what was spent or paid out of it. Without it: that is owed.")
    ] = False,
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
