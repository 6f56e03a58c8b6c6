"""What support does about abuse: `ban list`, `explain`, `add`, `lift`, and `restriction list`, `explain`, `lift`."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, TypeVar

import typer

from tollkeeper.app import office
from tollkeeper.cli.abuse_words import (
    NotAnIp,
    ban_history,
    ban_record,
    because,
    client_in,
    moment,
    peak_picture,
    restriction_history,
    restriction_record,
    standing,
)
from tollkeeper.cli.command import command
from tollkeeper.cli.customers import AccountId, Reason
from tollkeeper.cli.listing import AsJson, fields_of, show_json, show_list
from tollkeeper.cli.speak import Mistake, say, settings_or_complain
from tollkeeper.core.client_ip import is_in, read_ip, read_networks
from tollkeeper.core.limits.abuse import PeakMinute
from tollkeeper.ports import BanRecord, RestrictionRecord
from tollkeeper.ports.limits import LISTED_MOST, REASON_CHARACTERS_MOST

HOURS_MOST = 10 * 366 * 24

Record = TypeVar("Record", BanRecord, RestrictionRecord)

ban_app = typer.Typer(help="Banned clients.", no_args_is_help=True)
restriction_app = typer.Typer(help="Accounts that were at peak for too long.", no_args_is_help=True)

Client = Annotated[str, typer.Argument(metavar="IP", help="The client: 192.0.2.7, 2001:db8::7 or 2001:db8::/64.")]
All = Annotated[bool, typer.Option("--all", help="Those that are over or were lifted too.")]


def register(app: typer.Typer) -> None:
    app.add_typer(ban_app, name="ban")
    app.add_typer(restriction_app, name="restriction")


@ban_app.command("list")
@command()
async def list_bans(everything: All = False, as_json: AsJson = False) -> None:
    """The clients that are banned, the newest first."""
    async with office(settings_or_complain()) as desk:
        found = await desk.abuse.bans(in_force_only=not everything)
    now = datetime.now(UTC)
    show_list(
        found,
        head=("client", "since", "why", "now"),
        line=lambda ban: (ban.ip, moment(ban.began_at), because(ban), standing(ban, now)),
        record=partial(ban_record, now=now),
        as_json=as_json,
        none="No client is banned.",
    )
    _say_if_cut(len(found), as_json=as_json)


@ban_app.command("explain")
@command(NotAnIp)
async def explain_ban(ip: Client, as_json: AsJson = False) -> None:
    """Every ban of a client: why, when, what was counted, until when, who lifted it; and how long the next would be."""
    client = client_in(ip)
    async with office(settings_or_complain()) as desk:
        bans = await desk.abuse.bans(ip=client, in_force_only=False)
    now = datetime.now(UTC)
    current = _in_force(bans, now)
    if as_json:
        show_json({"client": client, "banned": current is not None, "bans": [ban_record(ban, now=now) for ban in bans]})
        return
    say(f"{client} is banned until {moment(current.until)}." if current else f"{client} is not banned.")
    for line in ban_history(bans, desk.abuse_policy, now):
        say(line)


@ban_app.command("add")
@command(NotAnIp)
async def add_ban(
    ip: Client,
    reason: Reason,
    hours: Annotated[int, typer.Option(metavar="N", min=1, max=HOURS_MOST, help="For how long.")],
) -> None:
    """Ban a client: all its calls are refused with 403, on every node within two seconds."""
    client, why = client_in(ip), _reason(reason)
    address, settings = read_ip(ip.partition("/")[0]), settings_or_complain()
    if address is not None and is_in(address, read_networks(settings.trusted_proxies)):
        raise Mistake(f"{client} is one of your own proxies (TOLLKEEPER_TRUSTED_PROXIES), and those are never banned.")
    async with office(settings) as desk:
        until = await desk.abuse.ban(client, hours * 3_600, why, actor=desk.actor)
    if until is None:
        raise Mistake(f"{client} is banned already: see `tollkeeper ban explain {client}`. Lift that ban first.")
    say(f"{client} is banned until {moment(until)}")


@ban_app.command("lift")
@command(NotAnIp)
async def lift_ban(ip: Client, reason: Reason) -> None:
    """Let a client in again, on every node within two seconds. A ban that was lifted makes no later one longer."""
    client, why = client_in(ip), _reason(reason)
    async with office(settings_or_complain()) as desk:
        lifted = await desk.abuse.lift_ban(client, why, actor=desk.actor)
    say(f"the ban of {client} is lifted" if lifted else f"{client} was not banned")


@restriction_app.command("list")
@command()
async def list_restrictions(everything: All = False, as_json: AsJson = False) -> None:
    """The accounts that are restricted, the newest first."""
    async with office(settings_or_complain()) as desk:
        found = await desk.abuse.restrictions(in_force_only=not everything)
    now = datetime.now(UTC)
    show_list(
        found,
        head=("account", "since", "seconds at peak", "most of it from", "now"),
        line=partial(_restriction_line, now=now),
        record=partial(restriction_record, now=now),
        as_json=as_json,
        none="No account is restricted.",
    )
    _say_if_cut(len(found), as_json=as_json)


@restriction_app.command("explain")
@command()
async def explain_restriction(account: AccountId, as_json: AsJson = False) -> None:
    """Every restriction of an account, and the minutes at peak that counted for it, or would for the next one."""
    now = datetime.now(UTC)
    async with office(settings_or_complain()) as desk:
        policy = desk.abuse_policy
        restrictions = await desk.abuse.restrictions(account_id=account, in_force_only=False)
        current = _in_force(restrictions, now)
        end = now if current is None else current.began_at
        since = end - timedelta(seconds=policy.peak_within_seconds)
        minutes = [PeakMinute(*minute) for minute in await desk.abuse.peak_minutes(account, since=since)]
    if as_json:
        told = [restriction_record(each, now=now) for each in restrictions]
        peaks = [fields_of(minute, "minute", "ip", "milliseconds") for minute in minutes]
        show_json({"account_id": account, "restricted": current is not None, "restrictions": told, "peaks": peaks})
        return
    say(f"account {account} is " + (f"restricted until {moment(current.until)}." if current else "not restricted."))
    for line in (*restriction_history(restrictions, now), *peak_picture(minutes)):
        say(line)
    say(
        f"More than {policy.peak_seconds} s at peak within {policy.peak_within_seconds} s restrict an account. "
        "What came before its last restriction ended, or was lifted, does not count again."
    )


@restriction_app.command("lift")
@command()
async def lift_restriction(account: AccountId, reason: Reason) -> None:
    """Give an account its full rate back, on every node within two seconds."""
    why = _reason(reason)
    async with office(settings_or_complain()) as desk:
        lifted = await desk.abuse.lift_restriction(account, why, actor=desk.actor)
    say(f"the restriction of account {account} is lifted" if lifted else f"account {account} was not restricted")


def _in_force(records: Sequence[Record], now: datetime) -> Record | None:
    return next((record for record in records if record.lifted_at is None and record.until > now), None)


def _reason(text: str) -> str:
    reason = text.strip()
    if not 1 <= len(reason) <= REASON_CHARACTERS_MOST:
        raise Mistake(
            f"Say why in 1 to {REASON_CHARACTERS_MOST} characters: --reason 'what happened'. Nothing was done."
        )
    return reason


def _restriction_line(restriction: RestrictionRecord, now: datetime) -> tuple[str, ...]:
    return (
        str(restriction.account_id),
        moment(restriction.began_at),
        f"{restriction.peak_seconds} within {restriction.within_seconds}",
        restriction.ip or "unknown",
        standing(restriction, now),
    )


def _say_if_cut(count: int, *, as_json: bool) -> None:
    if count == LISTED_MOST and not as_json:
        say(f"Only the newest {LISTED_MOST} are shown.")
