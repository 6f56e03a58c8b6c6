"""Customers' accounts: found, shown, opened, moved to another group, disabled; and the quota that comes to them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec

from tollkeeper.accounts.people.search import read_search
from tollkeeper.accounts.people.staff import disable_account as disable
from tollkeeper.accounts.people.staff import enable_account as enable
from tollkeeper.accounts.people.staff import require_over_customer, require_role
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.catalog.price_book import DEFAULT_GROUP
from tollkeeper.core.money.amounts import quota_from_usd, usd_typed
from tollkeeper.core.people.logins import Actor, Role
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import MoneyWish, act
from tollkeeper.office.amounts import Amount, amount_of
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.wishes import AccountNumber, AccountReason, AccountWish, Changed, ReasonText, Usd
from tollkeeper.ports import Credit
from tollkeeper.ports.customers.roster import (
    AccountEvent,
    AccountRecord,
    AccountSearch,
    CustomerStanding,
    CustomerState,
    TimelinePlace,
)

TERM_MONTHS = 9

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]
AccountsGroup = Annotated[str, msgspec.Meta(max_length=64, description="Whose prices and limits it has.")]


class NewAccountWish(msgspec.Struct, frozen=True, kw_only=True):
    name: Name
    group: AccountsGroup = DEFAULT_GROUP
    reason: ReasonText = ""


class MadeAccount(msgspec.Struct, frozen=True):
    account: int


class AccountsWish(Paging, frozen=True, kw_only=True):
    search: Annotated[
        str,
        msgspec.Meta(
            max_length=200,
            description="Words of the name, or their beginnings; the beginning of an e-mail; an account's number; what "
            "a key looks like, or its last four characters; the id of a call. Empty: everybody.",
        ),
    ] = ""
    lapsing: Annotated[
        bool, msgspec.Meta(description="Only those with a lot that lapses within seven days with something left in it.")
    ] = False


class AccountRow(msgspec.Struct, frozen=True, kw_only=True):
    """An account in a list."""

    account: int
    name: str
    # None: it has no login.
    email: str | None
    group: str
    state: CustomerState
    is_restricted: bool
    created_at: datetime
    balance: Amount


class AccountView(msgspec.Struct, frozen=True, kw_only=True):
    """All that an account has, at one moment. `balance`: what is free and bound, less what is owed."""

    account: int
    name: str
    group: str
    state: CustomerState
    created_at: datetime
    restricted_until: datetime | None
    # Clients that are banned now because of its calls.
    banned_ips: Sequence[str]
    invited_by: int | None
    balance: Amount
    # Lots that any key can draw from, and lots of single keys.
    free: Amount
    bound: Amount
    # By calls under way.
    held: Amount
    debt: Amount
    used: Amount
    next_expiry: datetime | None
    keys_in_use: int
    # None: it has no login.
    email: str | None
    role: Role | None
    second_factor: bool


class TimelineWish(Paging, frozen=True, kw_only=True):
    account: AccountNumber


class TimelineRow(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened. `amount`: what came in, or went (below nothing)."""

    at: datetime
    what: str
    by: str
    subject: str
    amount: Amount | None
    detail: Mapping[str, Any]


class SetGroupWish(AccountReason, frozen=True, kw_only=True):
    group: AccountsGroup


class CreditWish(MoneyWish, frozen=True, kw_only=True):
    account: AccountNumber
    usd: Usd
    months: Annotated[int, msgspec.Meta(ge=1, le=120, description="Calendar months until it expires.")] = TERM_MONTHS
    source_id: (
        Annotated[
            str,
            msgspec.Meta(
                min_length=1,
                max_length=255,
                description="Your own id of the payment: it is credited once, whoever sends it and by whichever way.",
            ),
        ]
        | None
    ) = None


class CreditDone(msgspec.Struct, frozen=True, kw_only=True):
    lot: int
    amount: Amount
    expires_at: datetime
    # Whether it had been credited before, under the same name or source id: then nothing was added.
    was_before: bool


@act("GET", "/accounts", Scope.READ)
async def list_accounts(office: Office, wish: AccountsWish, by: Actor) -> Listed[AccountRow]:
    """Accounts, the newest first; with `search`, those that fit it in some way."""
    search = await _meant(office, wish.search)
    found = await office.roster.page(
        search, lapsing_only=wish.lapsing, before_id=wish.after_key(int), limit=wish.limit + 1
    )
    page = listed(found, wish.limit, lambda record: record.account_id)
    return Listed([_row(record) for record in page.data], page.next)


@act("GET", "/accounts/{account}", Scope.READ)
async def show_account(office: Office, wish: AccountWish, by: Actor) -> AccountView:
    """An account: what it has left, holds, owes and has used; its group, its state, its login."""
    return _view(await office.roster.standing(wish.account))


@act("GET", "/accounts/{account}/timeline", Scope.READ)
async def show_timeline(office: Office, wish: TimelineWish, by: Actor) -> Listed[TimelineRow]:
    """What happened to an account, the newest first: credits, redemptions, gifts, lots that expired, keys, sign-ins,
    restrictions, bans, and everything that staff did. Calls are in the usage log."""
    before = wish.after_key(TimelinePlace)
    found = await office.timelines.page(wish.account, before=before, limit=wish.limit + 1)
    page = listed(found, wish.limit, lambda event: event.place)
    return Listed([_happened(event) for event in page.data], page.next)


@act("POST", "/accounts", Scope.SUPPORT)
async def create_account(office: Office, wish: NewAccountWish, by: Actor) -> MadeAccount:
    """Open an account. In another group than the usual one: as moving it there, for operators."""
    if wish.group != DEFAULT_GROUP:
        require_role(by, Role.OPERATOR)
    return MadeAccount(await office.accounts.create(wish.name, wish.group, actor=by.name))


@act("POST", "/accounts/{account}/group", Scope.MONEY)
async def set_group(office: Office, wish: SetGroupWish, by: Actor) -> Changed:
    """Put an account into another group, whose prices (so it is money) and limits it has from then on."""
    reason = checked_reason(wish.reason)
    await require_over_customer(office.front_desk, wish.account, by=by)
    return Changed(await office.groups.move(wish.account, wish.group, actor=by.name, reason=reason))


@act("POST", "/accounts/{account}/credits", Scope.MONEY)
async def credit_account(office: Office, wish: CreditWish, by: Actor) -> CreditDone:
    """Add prepaid quota to an account."""
    amount = quota_from_usd(usd_typed(wish.usd))
    source_id = wish.source_id or wish.once
    order = Credit(account_id=wish.account, amount=amount, source="operator", source_id=source_id, months=wish.months)
    lot = await office.accounts.credit(order, reason=checked_reason(wish.reason), actor=by.name)
    return CreditDone(lot=lot.lot_id, amount=amount_of(amount), expires_at=lot.expires_at, was_before=lot.replayed)


@act("POST", "/accounts/{account}/disable", Scope.SUPPORT)
async def disable_account(office: Office, wish: AccountReason, by: Actor) -> Changed:
    """Let nobody sign in, call, redeem or withdraw. The sessions end. Calls that run are finished and charged."""
    return Changed(await disable(office.front_desk, office.accounts, wish.account, wish.reason, by=by))


@act("POST", "/accounts/{account}/enable", Scope.SUPPORT)
async def enable_account(office: Office, wish: AccountReason, by: Actor) -> Changed:
    """Let an account that was disabled do everything again. Its owner signs in anew."""
    return Changed(await enable(office.front_desk, office.accounts, wish.account, wish.reason, by=by))


async def _meant(office: Office, text: str) -> AccountSearch:
    """A call belongs to one account, where it is known; all else is read from the text."""
    try:
        request_id = UUID(text.strip())
    except ValueError:
        return read_search(text)
    call = await office.receipts.find(request_id, account_id=None)
    if call is not None:
        return AccountSearch(number=call.account_id)
    refused = await office.refused_calls.find(request_id, account_id=None)
    return AccountSearch(number=0 if refused is None else refused.account_id)


def _row(record: AccountRecord) -> AccountRow:
    return AccountRow(
        account=record.account_id,
        name=record.name,
        email=record.email,
        group=record.group,
        state=record.state,
        is_restricted=record.is_restricted,
        created_at=record.created_at,
        balance=amount_of(record.balance),
    )


def _view(found: CustomerStanding) -> AccountView:
    return AccountView(
        account=found.account_id,
        name=found.name,
        group=found.group,
        state=found.state,
        created_at=found.created_at,
        restricted_until=found.restricted_until,
        banned_ips=found.banned_ips,
        invited_by=found.invited_by,
        balance=amount_of(found.balance),
        free=amount_of(found.free),
        bound=amount_of(found.bound),
        held=amount_of(found.held),
        debt=amount_of(found.debt),
        used=amount_of(found.used),
        next_expiry=found.next_expiry,
        keys_in_use=found.keys_in_use,
        email=found.email,
        role=found.role,
        second_factor=found.second_factor,
    )


def _happened(event: AccountEvent) -> TimelineRow:
    return TimelineRow(
        at=event.place.at,
        what=event.what,
        by=event.by,
        subject=event.subject,
        amount=None if event.amount is None else amount_of(event.amount),
        detail=event.detail,
    )


ACTS = (
    list_accounts,
    show_account,
    show_timeline,
    create_account,
    set_group,
    credit_account,
    disable_account,
    enable_account,
)
