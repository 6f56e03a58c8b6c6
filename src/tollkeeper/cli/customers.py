"""Accounts and quota: `account create`, `disable`, `enable`, `credit`."""

from decimal import Decimal
from typing import Annotated
from uuid import uuid4

import typer

from tollkeeper.accounts.people.staff import disable_account, enable_account
from tollkeeper.app import office
from tollkeeper.cli.command import command, trouble_of
from tollkeeper.cli.exit_codes import ExitCode
from tollkeeper.cli.numbers import usd_typed
from tollkeeper.cli.speak import Mistake, say, settings_or_complain
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.core.money.amounts import NotAnAmount, Quota, quota_from_usd
from tollkeeper.ports import Credit

CURRENT_TERM_MONTHS = 9

account_app = typer.Typer(help="Customers' accounts.", no_args_is_help=True)

MOST_ID = 2**63 - 1
AccountId = Annotated[int, typer.Argument(metavar="ACCOUNT", max=MOST_ID, help="The account's number.")]
Reason = Annotated[str, typer.Option(help="Why; it stays on the record.")]
WriteOff = Annotated[
    bool, typer.Option("--write-off", help="Let go what was spent or paid out of it. Without it: that is owed.")
]


def register(app: typer.Typer) -> None:
    app.add_typer(account_app, name="account")
    app.command()(credit)


@account_app.command("create")
@command()
async def create_account(
    name: Annotated[str, typer.Argument(help="What to call the account.")],
    group: Annotated[str, typer.Option(help="The group whose prices and limits it has.")] = "standard",
) -> None:
    """Open an account."""
    async with office(settings_or_complain()) as desk:
        account = await desk.accounts.create(name, group, actor=desk.actor)
    say(f"account {account}")


@account_app.command("disable")
@command(ValueError)
async def disable(account: AccountId, reason: Reason) -> None:
    """Let nobody sign in, call, redeem or withdraw. The sessions end. Calls that run are finished and charged."""
    async with office(settings_or_complain()) as desk:
        news = await disable_account(desk.front_desk, desk.accounts, account, reason, by=desk.operator)
    say(f"account {account} is disabled" + ("" if news else ", as it was before"))


@account_app.command("enable")
@command(ValueError)
async def enable(account: AccountId, reason: Reason) -> None:
    """Let an account that was disabled do everything again. Its owner signs in anew."""
    async with office(settings_or_complain()) as desk:
        news = await enable_account(desk.front_desk, desk.accounts, account, reason, by=desk.operator)
    say(f"account {account} is open" + ("" if news else ", as it was before"))


@command()
async def credit(
    account: AccountId,
    usd: Annotated[str, typer.Argument(metavar="USD", help="How much, in USD: for example 10 or 2.50.")],
    source_id: Annotated[
        str | None,
        typer.Option(help="Your own id of this payment. The same id is credited once, however often it is sent."),
    ] = None,
    months: Annotated[
        int, typer.Option(min=1, max=120, help="Calendar months until it expires.")
    ] = CURRENT_TERM_MONTHS,
) -> None:
    """Add prepaid quota to an account."""
    amount = amount_of(usd)
    source_id = source_id or str(uuid4())
    order = Credit(account_id=account, amount=amount, source="operator", source_id=source_id, months=months)
    try:
        async with office(settings_or_complain()) as desk:
            lot = await desk.accounts.credit(order, actor=desk.actor)
    except StoreUnavailable as problem:
        trouble = trouble_of(problem)
        if trouble is not None and trouble.lasts:
            raise
        raise Mistake(
            "The database did not answer, and whether it credited the amount is not known.\n"
            f"Repeat the command with '--source-id {source_id}': it is then credited once, whatever happened now.",
            ExitCode.STORE,
        ) from None
    done = "was credited before: nothing added" if lot.replayed else "credited"
    say(f"{Decimal(usd):f} USD {done}, lot {lot.lot_id}, expires {lot.expires_at:%Y-%m-%d}, source id {source_id}")


def amount_of(usd: str) -> Quota:
    try:
        return quota_from_usd(usd_typed(usd))
    except NotAnAmount as problem:
        raise Mistake(f"{problem} Nothing was done.") from None
