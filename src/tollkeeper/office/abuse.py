"""Bans of clients and restrictions of accounts: what was counted, and lifting them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

import msgspec

from tollkeeper.accounts.people.staff import require_over_customer
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.client_ip import client_in, is_in, read_ip
from tollkeeper.core.limits.abuse import PeakMinute, ban_seconds, bans_that_count
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.rows import RowOnFile
from tollkeeper.office.wishes import AccountReason, AccountWish, Changed, ReasonText
from tollkeeper.ports import AlreadyOnFile, BanRecord, RestrictionRecord

HOURS_MOST = 10 * 366 * 24
HISTORY_MOST = 500

ClientIp = Annotated[str, msgspec.Meta(max_length=100, description="As 192.0.2.7, 2001:db8::7 or 2001:db8::/64.")]
Everything = Annotated[bool, msgspec.Meta(description="Those that are over or were lifted too.")]
Record = TypeVar("Record", BanRecord, RestrictionRecord)


class OwnProxy(ValueError):
    """A client that is a proxy of this service's own, and is never banned."""

    def __init__(self, client: str) -> None:
        super().__init__(
            f"{client} is one of your own proxies (TOLLKEEPER_TRUSTED_PROXIES), and those are never banned. "
            "Nothing was done."
        )


class BansWish(Paging, frozen=True, kw_only=True):
    ip: ClientIp | None = None
    all: Everything = False


class BanNumber(msgspec.Struct, frozen=True, kw_only=True):
    ban: RowOnFile


class ClientWish(msgspec.Struct, frozen=True, kw_only=True):
    ip: ClientIp


class NewBanWish(ClientWish, frozen=True, kw_only=True):
    hours: Annotated[int, msgspec.Meta(ge=1, le=HOURS_MOST, description="For how long.")]
    reason: ReasonText


class LiftBanWish(ClientWish, frozen=True, kw_only=True):
    reason: ReasonText


class BanView(msgspec.Struct, frozen=True, kw_only=True):
    """`counted` is the evidence. For invalid calls: `calls` within `within_seconds`, and in `codes_seen_here` what was
    wrong with those of them that came to the process which banned for them. For time at peak: `peak_seconds`. For an
    operator's ban: the `reason`."""

    id: int
    ip: str
    began_at: datetime
    until: datetime
    in_force: bool
    why: str
    counted: dict[str, Any]
    account: int | None
    lifted_at: datetime | None
    lifted_by: str | None
    lift_reason: str | None


class ClientBans(msgspec.Struct, frozen=True, kw_only=True):
    """Every ban of a client, the newest first; and how long the next one for invalid calls would be: the more bans of
    the last `memory_seconds` count, the longer."""

    client: str
    banned_until: datetime | None
    bans: Sequence[BanView]
    next_seconds: int
    bans_that_count: int
    memory_seconds: int


class NewBan(msgspec.Struct, frozen=True, kw_only=True):
    client: str
    until: datetime


class LiftedBan(msgspec.Struct, frozen=True, kw_only=True):
    client: str
    changed: bool


class RestrictionsWish(Paging, frozen=True, kw_only=True):
    all: Everything = False


class RestrictionView(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    account: int
    began_at: datetime
    until: datetime
    in_force: bool
    peak_seconds: int
    within_seconds: int
    # Where most of it came from; empty where that is not known.
    ip: str
    # Who decided on it, and why; None: it followed from what was counted.
    began_by: str | None
    reason: str | None
    lifted_at: datetime | None
    lifted_by: str | None
    lift_reason: str | None


class AccountRestrictions(msgspec.Struct, frozen=True, kw_only=True):
    """Every restriction of an account, the newest first; the minutes at peak that counted for the one in force, or
    would for the next one; and the rule."""

    account: int
    restricted_until: datetime | None
    restrictions: Sequence[RestrictionView]
    peaks: Sequence[PeakMinute]
    most_peak_seconds: int
    within_seconds: int


@act("GET", "/bans", Scope.READ)
async def list_bans(office: Office, wish: BansWish, by: Actor) -> Listed[BanView]:
    """The clients that are banned, the newest first."""
    client = None if wish.ip is None else client_in(wish.ip)
    rows = await office.abuse.bans(
        ip=client, in_force_only=not wish.all, before_id=wish.after_row(), limit=wish.limit + 1
    )
    return listed(_ban_views(rows, office.now()), wish.limit, lambda row: row.id)


@act("GET", "/bans/{ban}", Scope.READ)
async def show_ban(office: Office, wish: BanNumber, by: Actor) -> BanView:
    """A ban: why, when, what was counted, until when, and who lifted it."""
    return _ban_views([await office.abuse.ban_record(wish.ban)], office.now())[0]


@act("GET", "/ban-history", Scope.READ)
async def explain_bans(office: Office, wish: ClientWish, by: Actor) -> ClientBans:
    """Every ban of a client, with what was counted; and how long the next would be."""
    client, policy, now = client_in(wish.ip), office.abuse_policy, office.now()
    bans = await office.abuse.bans(ip=client, in_force_only=False, limit=HISTORY_MOST)
    current = _in_force(bans, now)
    began = [ban.began_at for ban in bans if ban.why == "invalid_calls" and ban.lifted_at is None]
    earlier = bans_that_count(policy, began, now)
    return ClientBans(
        client=client,
        banned_until=None if current is None else current.until,
        bans=_ban_views(bans, now),
        next_seconds=ban_seconds(policy, earlier),
        bans_that_count=earlier,
        memory_seconds=policy.ban_memory_seconds,
    )


@act("POST", "/bans", Scope.SUPPORT)
async def add_ban(office: Office, wish: NewBanWish, by: Actor) -> NewBan:
    """Ban a client: all its calls are refused with 403, on every node within two seconds."""
    client, why = client_in(wish.ip), checked_reason(wish.reason)
    address = read_ip(wish.ip.partition("/")[0])
    if address is not None and is_in(address, office.trusted_proxies):
        raise OwnProxy(client)
    until = await office.abuse.ban(client, wish.hours * 3_600, why, actor=by.name)
    if until is None:
        raise AlreadyOnFile(f"{client} is banned already: see `tollkeeper ban explain {client}`. Lift that ban first.")
    return NewBan(client=client, until=until)


@act("POST", "/bans/lift", Scope.SUPPORT)
async def lift_ban(office: Office, wish: LiftBanWish, by: Actor) -> LiftedBan:
    """Let a client in again, on every node within two seconds. A ban that was lifted makes no later one longer."""
    client = client_in(wish.ip)
    lifted = await office.abuse.lift_ban(client, checked_reason(wish.reason), actor=by.name)
    return LiftedBan(client=client, changed=lifted)


@act("GET", "/restrictions", Scope.READ)
async def list_restrictions(office: Office, wish: RestrictionsWish, by: Actor) -> Listed[RestrictionView]:
    """The accounts that are restricted, the newest first."""
    rows = await office.abuse.restrictions(in_force_only=not wish.all, before_id=wish.after_row(), limit=wish.limit + 1)
    return listed(_restriction_views(rows, office.now()), wish.limit, lambda row: row.id)


@act("GET", "/accounts/{account}/restrictions", Scope.READ)
async def explain_restrictions(office: Office, wish: AccountWish, by: Actor) -> AccountRestrictions:
    """Every restriction of an account, and the minutes at peak that counted for it, or would for the next one."""
    policy, now, account = office.abuse_policy, office.now(), wish.account
    found = await office.abuse.restrictions(account_id=account, in_force_only=False, limit=HISTORY_MOST)
    current = _in_force(found, now)
    end = now if current is None else current.began_at
    since = end - timedelta(seconds=policy.peak_within_seconds)
    minutes = await office.abuse.peak_minutes(account, since=since)
    return AccountRestrictions(
        account=account,
        restricted_until=None if current is None else current.until,
        restrictions=_restriction_views(found, now),
        peaks=[PeakMinute(*minute) for minute in minutes],
        most_peak_seconds=policy.peak_seconds,
        within_seconds=policy.peak_within_seconds,
    )


@act("POST", "/accounts/{account}/restriction/lift", Scope.SUPPORT)
async def lift_restriction(office: Office, wish: AccountReason, by: Actor) -> Changed:
    """Give an account its full rate back, on every node within two seconds."""
    reason = checked_reason(wish.reason)
    await require_over_customer(office.front_desk, wish.account, by=by)
    lifted = await office.abuse.lift_restriction(wish.account, reason, actor=by.name)
    return Changed(lifted)


def _in_force(records: Sequence[Record], now: datetime) -> Record | None:
    return next((record for record in records if record.lifted_at is None and record.until > now), None)


def _ban_views(bans: Sequence[BanRecord], now: datetime) -> list[BanView]:
    return [
        BanView(
            id=ban.id,
            ip=ban.ip,
            began_at=ban.began_at,
            until=ban.until,
            in_force=ban.lifted_at is None and ban.until > now,
            why=ban.why,
            counted=dict(ban.counted),
            account=ban.account_id,
            lifted_at=ban.lifted_at,
            lifted_by=ban.lifted_by,
            lift_reason=ban.lift_reason,
        )
        for ban in bans
    ]


def _restriction_views(restrictions: Sequence[RestrictionRecord], now: datetime) -> list[RestrictionView]:
    return [
        RestrictionView(
            id=each.id,
            account=each.account_id,
            began_at=each.began_at,
            until=each.until,
            in_force=each.lifted_at is None and each.until > now,
            peak_seconds=each.peak_seconds,
            within_seconds=each.within_seconds,
            ip=each.ip,
            began_by=each.began_by,
            reason=each.reason,
            lifted_at=each.lifted_at,
            lifted_by=each.lifted_by,
            lift_reason=each.lift_reason,
        )
        for each in restrictions
    ]


ACTS = (
    list_bans,
    show_ban,
    explain_bans,
    add_ban,
    lift_ban,
    list_restrictions,
    explain_restrictions,
    lift_restriction,
)
