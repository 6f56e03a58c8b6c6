"""What support does about abuse: `ban list`, `show`, `explain`, `add`, `lift`, and `restriction list`, `explain`,
`add`, `lift`."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import typer

from tollkeeper.cli.abuse_words import (
    ban_history,
    ban_record,
    because,
    moment,
    peak_picture,
    restriction_history,
    restriction_record,
    standing,
)
from tollkeeper.cli.acting import perform
from tollkeeper.cli.codes import reason_in
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import MOST_ID, AccountId, Reason
from tollkeeper.cli.listing import AsJson, fields_of, show_fields, show_json, show_list
from tollkeeper.cli.pages import LISTED_MOST, every_page
from tollkeeper.cli.speak import say
from tollkeeper.core.client_ip import NotAnIp
from tollkeeper.office.abuse import (
    HOURS_MOST,
    BanNumber,
    BansWish,
    ClientWish,
    LiftBanWish,
    NewBanWish,
    RestrictionsWish,
    RestrictionView,
    explain_bans,
    explain_restrictions,
    list_bans,
    list_restrictions,
    show_ban,
)
from tollkeeper.office.abuse import add_ban as ban_client
from tollkeeper.office.abuse import lift_ban as lift_ban_of
from tollkeeper.office.abuse import lift_restriction as lift_restriction_of
from tollkeeper.office.restricting import HOURS_MOST as RESTRICTED_HOURS_MOST
from tollkeeper.office.restricting import RestrictWish, restrict_account
from tollkeeper.office.wishes import AccountReason, AccountWish

ban_app = typer.Typer(help="Banned clients.", no_args_is_help=True)
restriction_app = typer.Typer(
    help="Accounts that were at peak for too long, or that staff restricted.", no_args_is_help=True
)

Client = Annotated[str, typer.Argument(metavar="IP", help="The client: 192.0.2.7, 2001:db8::7 or 2001:db8::/64.")]
All = Annotated[bool, typer.Option("--all", help="Those that are over or were lifted too.")]


def register(app: typer.Typer) -> None:
    app.add_typer(ban_app, name="ban")
    app.add_typer(restriction_app, name="restriction")


@ban_app.command("list")
@command()
async def list_banned(everything: All = False, as_json: AsJson = False) -> None:
    """The clients that are banned, the newest first."""
    found = await every_page(list_bans, BansWish(all=everything), LISTED_MOST)
    now = datetime.now(UTC)
    show_list(
        found,
        head=("client", "since", "why", "now"),
        line=lambda ban: (ban.ip, moment(ban.began_at), because(ban), standing(ban, now)),
        record=ban_record,
        as_json=as_json,
        none="No client is banned.",
    )
    _say_if_cut(len(found), as_json=as_json)


@ban_app.command("show")
@command()
async def show(
    ban: Annotated[int, typer.Argument(metavar="BAN", max=MOST_ID, help="The ban's number.")], as_json: AsJson = False
) -> None:
    """A ban: why, when, what was counted, until when, and who lifted it."""
    found = await perform(show_ban, BanNumber(ban=ban))
    if as_json:
        show_json(ban_record(found))
        return
    now = datetime.now(UTC)
    told = [("since", moment(found.began_at)), ("why", because(found)), ("now", standing(found, now))]
    show_fields([("ban", str(found.id)), ("client", found.ip), *told])


@ban_app.command("explain")
@command(NotAnIp)
async def explain_ban(ip: Client, as_json: AsJson = False) -> None:
    """Every ban of a client: why, when, what was counted, until when, who lifted it; and how long the next would be."""
    found = await perform(explain_bans, ClientWish(ip=ip))
    client, until = found.client, found.banned_until
    if as_json:
        show_json({"client": client, "banned": until is not None, "bans": [ban_record(ban) for ban in found.bans]})
        return
    say(f"{client} is banned until {moment(until)}." if until else f"{client} is not banned.")
    for line in ban_history(found, datetime.now(UTC)):
        say(line)


@ban_app.command("add")
@command(ValueError)
async def add_ban(
    ip: Client,
    reason: Reason,
    hours: Annotated[int, typer.Option(metavar="N", min=1, max=HOURS_MOST, help="For how long.")],
) -> None:
    """Ban a client: all its calls are refused with 403, on every node within two seconds."""
    made = await perform(ban_client, NewBanWish(ip=ip, hours=hours, reason=reason_in(reason)))
    say(f"{made.client} is banned until {moment(made.until)}")


@ban_app.command("lift")
@command(NotAnIp)
async def lift_ban(ip: Client, reason: Reason) -> None:
    """Let a client in again, on every node within two seconds. A ban that was lifted makes no later one longer."""
    done = await perform(lift_ban_of, LiftBanWish(ip=ip, reason=reason_in(reason)))
    say(f"the ban of {done.client} is lifted" if done.changed else f"{done.client} was not banned")


@restriction_app.command("list")
@command()
async def list_restricted(everything: All = False, as_json: AsJson = False) -> None:
    """The accounts that are restricted, the newest first."""
    found = await every_page(list_restrictions, RestrictionsWish(all=everything), LISTED_MOST)
    show_list(
        found,
        head=("account", "since", "seconds at peak", "most of it from", "now"),
        line=partial(_restriction_line, now=datetime.now(UTC)),
        record=restriction_record,
        as_json=as_json,
        none="No account is restricted.",
    )
    _say_if_cut(len(found), as_json=as_json)


@restriction_app.command("explain")
@command()
async def explain_restriction(account: AccountId, as_json: AsJson = False) -> None:
    """Every restriction of an account, and the minutes at peak that counted for it, or would for the next one."""
    found = await perform(explain_restrictions, AccountWish(account=account))
    until = found.restricted_until
    if as_json:
        told = [restriction_record(each) for each in found.restrictions]
        peaks = [fields_of(minute, "minute", "ip", "milliseconds") for minute in found.peaks]
        show_json({"account_id": account, "restricted": until is not None, "restrictions": told, "peaks": peaks})
        return
    say(f"account {account} is " + (f"restricted until {moment(until)}." if until else "not restricted."))
    for line in (*restriction_history(found.restrictions, datetime.now(UTC)), *peak_picture(found.peaks)):
        say(line)
    say(
        f"More than {found.most_peak_seconds} s at peak within {found.within_seconds} s restrict an account. "
        "What came before its last restriction ended, or was lifted, does not count again."
    )


@restriction_app.command("add")
@command(ValueError)
async def add_restriction(
    account: AccountId,
    reason: Reason,
    hours: Annotated[int, typer.Option(metavar="N", min=1, max=RESTRICTED_HOURS_MOST, help="For how long.")] = 24,
) -> None:
    """Give an account the rate of restricted ones, on every node within two seconds."""
    made = await perform(restrict_account, RestrictWish(account=account, hours=hours, reason=reason_in(reason)))
    say(f"account {account} is restricted until {moment(made.until)}")


@restriction_app.command("lift")
@command()
async def lift_restriction(account: AccountId, reason: Reason) -> None:
    """Give an account its full rate back, on every node within two seconds."""
    done = await perform(lift_restriction_of, AccountReason(account=account, reason=reason_in(reason)))
    say(f"the restriction of account {account} is lifted" if done.changed else f"account {account} was not restricted")


def _restriction_line(restriction: RestrictionView, now: datetime) -> tuple[str, ...]:
    return (
        str(restriction.account),
        moment(restriction.began_at),
        f"{restriction.peak_seconds} within {restriction.within_seconds}",
        restriction.ip or "unknown",
        standing(restriction, now),
    )


def _say_if_cut(count: int, *, as_json: bool) -> None:
    if count == LISTED_MOST and not as_json:
        say(f"Only the newest {LISTED_MOST} are shown.")
