"""Accounts and quota: `account list`, `show`, `timeline`, `create`, `set-group`, `disable`, `enable`, and `credit`."""

from decimal import Decimal
from typing import Annotated
from uuid import uuid4

import typer

from tollkeeper.cli.account_words import (
    ACCOUNT_HEAD,
    TIMELINE_HEAD,
    account_fields,
    account_line,
    account_record,
    account_view_record,
    event_line,
    event_record,
)
from tollkeeper.cli.acting import perform
from tollkeeper.cli.command import command, trouble_of
from tollkeeper.cli.exit_codes import ExitCode
from tollkeeper.cli.listing import AsJson, show_fields, show_json, show_list
from tollkeeper.cli.numbers import usd_typed
from tollkeeper.cli.pages import After, PageLimit, say_more
from tollkeeper.cli.speak import Mistake, say
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.core.money.amounts import NotAnAmount, Quota, quota_from_usd
from tollkeeper.office.accounts import (
    AccountsWish,
    CreditWish,
    NewAccountWish,
    SetGroupWish,
    TimelineWish,
    create_account,
    credit_account,
    disable_account,
    enable_account,
    list_accounts,
    set_group,
    show_account,
    show_timeline,
)
from tollkeeper.office.lists import BadCursor
from tollkeeper.office.wishes import AccountReason, AccountWish

CURRENT_TERM_MONTHS = 9
REASON_OF_CREDITS = "credited on the command line"
# For what a customer asks for, and gets.
REASON_HERE = "on the command line"

account_app = typer.Typer(help="Customers' accounts.", no_args_is_help=True)

MOST_ID = 2**63 - 1
AccountId = Annotated[int, typer.Argument(metavar="ACCOUNT", max=MOST_ID, help="The account's number.")]
Reason = Annotated[str, typer.Option(help="Why; it stays on the record.")]
# Where `office/reasons` says that one is welcome.
MaybeReason = Annotated[str, typer.Option(help="Why, if there is more to say than what is done.")]
WriteOff = Annotated[
    bool, typer.Option("--write-off", help="Let go what was spent or paid out of it. Without it: that is owed.")
]


def register(app: typer.Typer) -> None:
    app.add_typer(account_app, name="account")
    app.command()(credit)


@account_app.command("list")
@command(BadCursor)
async def list_them(
    search: Annotated[
        str,
        typer.Argument(
            help="Beginnings of words of the name, or of the e-mail; the account's number; what a key looks like, or "
            "its last four characters; the id of a call. Without it: everybody.",
        ),
    ] = "",
    lapsing: Annotated[
        bool, typer.Option("--lapsing", help="Only those with a lot that lapses within seven days.")
    ] = False,
    limit: PageLimit = 50,
    after: After = "",
    as_json: AsJson = False,
) -> None:
    """Accounts, the newest first; those that fit what is looked for."""
    page = await perform(list_accounts, AccountsWish(search=search, lapsing=lapsing, limit=limit, after=after))
    none = "No account fits." if search or lapsing else "There are no accounts."
    more = {"next": page.next}
    show_list(
        page.data,
        head=ACCOUNT_HEAD,
        line=account_line,
        record=account_record,
        as_json=as_json,
        none=none,
        more=more,
    )
    say_more(page.next, as_json=as_json)


@account_app.command("show")
@command()
async def show(account: AccountId, as_json: AsJson = False) -> None:
    """One account: what it has left, holds, owes and has used; its group, its state, its login."""
    found = await perform(show_account, AccountWish(account=account))
    if as_json:
        show_json(account_view_record(found))
        return
    show_fields(account_fields(found))


@account_app.command("timeline")
@command(BadCursor)
async def timeline(account: AccountId, limit: PageLimit = 50, after: After = "", as_json: AsJson = False) -> None:
    """What happened to an account, the newest first: quota, keys, sign-ins, restrictions, and what staff did."""
    page = await perform(show_timeline, TimelineWish(account=account, limit=limit, after=after))
    show_list(
        page.data,
        head=TIMELINE_HEAD,
        line=event_line,
        record=event_record,
        as_json=as_json,
        none=f"Nothing happened to account {account} yet.",
        more={"next": page.next},
    )
    say_more(page.next, as_json=as_json)


@account_app.command("create")
@command(ValueError)
async def create(
    name: Annotated[str, typer.Argument(help="What to call the account.")],
    group: Annotated[str, typer.Option(help="The group whose prices and limits it has.")] = "standard",
    reason: MaybeReason = "",
) -> None:
    """Open an account."""
    made = await perform(create_account, NewAccountWish(name=name, group=group, reason=reason))
    say(f"account {made.account}")


@account_app.command("set-group")
@command(ValueError)
async def move(
    account: AccountId, group: Annotated[str, typer.Argument(metavar="GROUP", help="The group.")], reason: Reason
) -> None:
    """Put an account into another group, whose prices and limits it has from then on."""
    done = await perform(set_group, SetGroupWish(account=account, group=group, reason=reason))
    say(f"account {account} is in group {group}" + ("" if done.changed else ", as it was before"))


@account_app.command("disable")
@command(ValueError)
async def disable(account: AccountId, reason: Reason) -> None:
    """Let nobody sign in, call, redeem or withdraw. The sessions end. Calls that run are finished and charged."""
    done = await perform(disable_account, AccountReason(account=account, reason=reason))
    say(f"account {account} is disabled" + ("" if done.changed else ", as it was before"))


@account_app.command("enable")
@command(ValueError)
async def enable(account: AccountId, reason: Reason) -> None:
    """Let an account that was disabled do everything again. Its owner signs in anew."""
    done = await perform(enable_account, AccountReason(account=account, reason=reason))
    say(f"account {account} is open" + ("" if done.changed else ", as it was before"))


@command(ValueError)
async def credit(
    account: AccountId,
    usd: Annotated[str, typer.Argument(metavar="USD", help="How much, in USD: for example 10 or 2.50.")],
    source_id: Annotated[
        str | None,
        typer.Option(help="Your own id of this payment. It is credited once, whoever sends it and however often."),
    ] = None,
    months: Annotated[
        int, typer.Option(min=1, max=120, help="Calendar months until it expires.")
    ] = CURRENT_TERM_MONTHS,
    reason: Reason = REASON_OF_CREDITS,
) -> None:
    """Add prepaid quota to an account."""
    amount_of(usd)
    source_id = source_id or str(uuid4())
    wish = CreditWish(once=source_id, source_id=source_id, account=account, usd=usd, months=months, reason=reason)
    try:
        done = await perform(credit_account, wish)
    except StoreUnavailable as problem:
        trouble = trouble_of(problem)
        if trouble is not None and trouble.lasts:
            raise
        raise Mistake(
            "The database did not answer, and whether it credited the amount is not known.\n"
            f"Repeat the command with '--source-id {source_id}': it is then credited once, whatever happened now.",
            ExitCode.STORE,
        ) from None
    told = "was credited before: nothing added" if done.was_before else "credited"
    say(f"{Decimal(usd):f} USD {told}, lot {done.lot}, expires {done.expires_at:%Y-%m-%d}, source id {source_id}")


def amount_of(usd: str) -> Quota:
    try:
        return quota_from_usd(usd_typed(usd))
    except NotAnAmount as problem:
        raise Mistake(f"{problem} Nothing was done.") from None
