"""Accounts and quota: `account create`, `disable`, `enable`, `credit`."""

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal, InvalidOperation
from typing import Annotated
from uuid import uuid4

import typer

from tollkeeper.accounts.staff import disable_account, enable_account
from tollkeeper.app import Office, office
from tollkeeper.cli.speak import complain, say, settings_or_complain
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.core.logins import Actor, Role
from tollkeeper.core.money import NotAnAmount, Quota, quota_from_usd
from tollkeeper.ports import Credit, Credited

CURRENT_TERM_MONTHS = 9

account_app = typer.Typer(help="Customers' accounts.", no_args_is_help=True)

MOST_ID = 2**63 - 1
Reason = Annotated[str, typer.Option(help="Why; it stays on the record.")]
AccountId = Annotated[int, typer.Argument(metavar="ACCOUNT", max=MOST_ID, help="The account's number.")]


def register(app: typer.Typer) -> None:
    app.add_typer(account_app, name="account")
    app.command()(credit)


@account_app.command("create")
def create_account(
    name: Annotated[str, typer.Argument(help="What to call the account.")],
    group: Annotated[str, typer.Option(help="The group whose prices and limits it has.")] = "standard",
) -> None:
    """Open an account."""

    async def work() -> int:
        async with office(settings_or_complain()) as desk:
            return await desk.accounts.create(name, group, actor=desk.actor)

    say(f"account {asyncio.run(work())}")


@account_app.command("disable")
def disable(account: AccountId, reason: Reason) -> None:
    """Let nobody sign in, call, redeem or withdraw. The sessions end. Calls that run are finished and charged."""

    async def work(desk: Office) -> bool:
        me = Actor(desk.actor, Role.OPERATOR)
        return await disable_account(desk.front_desk, desk.accounts, account, reason, by=me)

    say(f"account {account} is disabled" + ("" if _news(work) else ", as it was before"))


@account_app.command("enable")
def enable(account: AccountId, reason: Reason) -> None:
    """Let an account that was disabled do everything again. Its owner signs in anew."""

    async def work(desk: Office) -> bool:
        me = Actor(desk.actor, Role.OPERATOR)
        return await enable_account(desk.front_desk, desk.accounts, account, reason, by=me)

    say(f"account {account} is open" + ("" if _news(work) else ", as it was before"))


def credit(
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

    async def work() -> Credited:
        async with office(settings_or_complain()) as desk:
            return await desk.accounts.credit(order, actor=desk.actor)

    try:
        lot = asyncio.run(work())
    except StoreUnavailable:
        complain(
            "The database did not answer, and whether it credited the amount is not known.\n"
            f"Repeat the command with '--source-id {source_id}': it is then credited once, whatever happened now."
        )
        raise typer.Exit(1) from None
    done = "was credited before: nothing added" if lot.replayed else "credited"
    say(f"{Decimal(usd):f} USD {done}, lot {lot.lot_id}, expires {lot.expires_at:%Y-%m-%d}, source id {source_id}")


def _news(work: Callable[[Office], Awaitable[bool]]) -> bool:
    async def at_the_desk() -> bool:
        async with office(settings_or_complain()) as desk:
            try:
                return await work(desk)
            except ValueError as refusal:
                complain(str(refusal))
                raise typer.Exit(1) from None

    return asyncio.run(at_the_desk())


def amount_of(usd: str) -> Quota:
    try:
        return quota_from_usd(Decimal(usd))
    except (InvalidOperation, NotAnAmount) as problem:
        reason = str(problem) if isinstance(problem, NotAnAmount) else f"'{usd}' is not a number of USD."
        complain(f"{reason} Nothing was done.")
        raise typer.Exit(1) from None
