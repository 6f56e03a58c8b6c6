"""Accounts, quota and keys: `account create`, `credit`, `key create`, `key revoke`."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Annotated
from uuid import uuid4

import typer

from tollkeeper.accounts.keys import IssuedKey, KeyWish, create_key
from tollkeeper.app import office
from tollkeeper.cli.speak import complain, say, settings_or_complain
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.core.money import NotAnAmount, Quota, quota_from_usd
from tollkeeper.ports import Credit, Credited

CURRENT_TERM_MONTHS = 9

account_app = typer.Typer(help="Customers' accounts.", no_args_is_help=True)
key_app = typer.Typer(help="API keys.", no_args_is_help=True)

MOST_ID = 2**63 - 1
AccountId = Annotated[int, typer.Argument(metavar="ACCOUNT", max=MOST_ID, help="The account's number.")]


def register(app: typer.Typer) -> None:
    app.add_typer(account_app, name="account")
    app.command()(credit)
    app.add_typer(key_app, name="key")


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
    amount = _amount(usd)
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


@key_app.command("create")
def create(
    account: AccountId,
    name: Annotated[str, typer.Argument(help="What to call the key.")],
    quota_usd: Annotated[str | None, typer.Option(help="Its own quota in USD. Without it: unlimited.")] = None,
    days: Annotated[
        int | None, typer.Option(min=1, max=36_500, help="Days until it expires. Without it: never.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option(help="A model it may use; repeat it. Without it: all.")] = None,
) -> None:
    """Make an API key. It is shown once, now."""
    wish = KeyWish(
        account_id=account,
        name=name,
        quota=None if quota_usd is None else _amount(quota_usd),
        expires_at=None if days is None else datetime.now(UTC) + timedelta(days=days),
        only_models=model,
    )

    async def work() -> IssuedKey:
        async with office(settings_or_complain()) as desk:
            return await create_key(wish, desk.key_maker, desk.keys, actor=desk.actor)

    try:
        issued = asyncio.run(work())
    except ValueError as problem:
        complain(str(problem))
        raise typer.Exit(1) from None
    say(f"key {issued.key_id}\n{issued.key}")
    say("Copy it now: it is not kept and cannot be shown again.")


@key_app.command("revoke")
def revoke(
    key: Annotated[int, typer.Argument(metavar="KEY", max=MOST_ID, help="The key's number, not the key.")],
) -> None:
    """Refuse a key from now on, on every node within two seconds."""

    async def work() -> bool:
        async with office(settings_or_complain()) as desk:
            return await desk.keys.revoke(key, actor=desk.actor)

    say(f"key {key} revoked" if asyncio.run(work()) else f"key {key} was revoked before")


def _amount(usd: str) -> Quota:
    try:
        return quota_from_usd(Decimal(usd))
    except (InvalidOperation, NotAnAmount) as problem:
        reason = str(problem) if isinstance(problem, NotAnAmount) else f"'{usd}' is not a number of USD."
        complain(f"{reason} Nothing was done.")
        raise typer.Exit(1) from None
