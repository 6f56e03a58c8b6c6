"""API keys of customers: made, changed, rotated, paused and revoked by staff.

Rules of this file
1. Who has a key's text spends its account's quota. So an act that shows one is about money and needs a reason; support
   limits, pauses and revokes keys, and customers make their own.
2. The text is in the one answer that makes it, and that is not kept.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec

from tollkeeper.accounts.keys import KeyWish, change_key, create_key
from tollkeeper.accounts.people.staff import require_over_customer
from tollkeeper.core.client_ip import Network, read_networks
from tollkeeper.core.money.amounts import Quota, quota_from_usd, usd_typed
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.amounts import Amount, amount_of
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.wishes import ROW_MOST, AccountNumber, Changed, Moment, ReasonText, Usd, checked_moment
from tollkeeper.ports import KeyChange, KeyOnFile

KeyNumber = Annotated[int, msgspec.Meta(ge=1, le=ROW_MOST, description="The key's number, not the key.")]
CustomerKeyName = Annotated[str, msgspec.Meta(max_length=200, description="What to call the key.")]
KeyModels = Annotated[list[Annotated[str, msgspec.Meta(max_length=200)]], msgspec.Meta(max_length=1_000)]
NetworkTexts = Annotated[
    list[Annotated[str, msgspec.Meta(max_length=64)]], msgspec.Meta(max_length=100, description="As 203.0.113.0/24.")
]


class KeysWish(Paging, frozen=True, kw_only=True):
    account: AccountNumber


class NewKeyWish(msgspec.Struct, frozen=True, kw_only=True):
    """None is: no limit."""

    account: AccountNumber
    name: CustomerKeyName
    quota_usd: Usd | None = None
    expires_at: Moment | None = None
    only_models: KeyModels | None = None
    only_networks: NetworkTexts | None = None
    daily_usd: Usd | None = None
    monthly_usd: Usd | None = None
    reason: ReasonText


class KeyChangeWish(msgspec.Struct, frozen=True, kw_only=True):
    """What is not named stays; null is: no limit."""

    key: KeyNumber
    name: CustomerKeyName | msgspec.UnsetType = msgspec.UNSET
    quota_usd: Usd | msgspec.UnsetType | None = msgspec.UNSET
    expires_at: Moment | msgspec.UnsetType | None = msgspec.UNSET
    only_models: KeyModels | msgspec.UnsetType | None = msgspec.UNSET
    only_networks: NetworkTexts | msgspec.UnsetType | None = msgspec.UNSET
    daily_usd: Usd | msgspec.UnsetType | None = msgspec.UNSET
    monthly_usd: Usd | msgspec.UnsetType | None = msgspec.UNSET
    reason: ReasonText


class RotateKeyWish(msgspec.Struct, frozen=True, kw_only=True):
    key: KeyNumber
    keep_hours: Annotated[
        int, msgspec.Meta(ge=0, le=168, description="For how long the old text is accepted, too.")
    ] = 0
    reason: ReasonText


class KeyNumberWish(msgspec.Struct, frozen=True, kw_only=True):
    key: KeyNumber
    reason: ReasonText


class ShownKey(msgspec.Struct, frozen=True):
    key: int
    # Shown here and never again.
    text: str


class KeyView(msgspec.Struct, frozen=True, kw_only=True):
    """A key, without its text."""

    key: int
    account: int
    name: str
    hint: str
    for_chat: bool
    created_at: datetime
    rotated_at: datetime | None
    former_until: datetime | None
    expires_at: datetime | None
    paused_at: datetime | None
    revoked_at: datetime | None
    quota: Amount | None
    used: Amount
    held: Amount
    daily_budget: Amount | None
    counted_today: Amount
    monthly_budget: Amount | None
    counted_this_month: Amount
    only_models: Sequence[str] | None
    only_networks: Sequence[str] | None


@act("GET", "/accounts/{account}/keys", Scope.READ)
async def list_keys(office: Office, wish: KeysWish, by: Actor) -> Listed[KeyView]:
    """The keys of an account, the newest first, without their texts."""
    keys = await office.keys.of_account(wish.account, chat_too=True)
    if not keys:
        await office.accounts.need(wish.account)
    before = wish.after_key(int)
    left = [key for key in keys if before is None or key.key_id < before]
    page = listed(left[: wish.limit + 1], wish.limit, lambda key: key.key_id)
    return Listed([key_view(key) for key in page.data], page.next)


@act("POST", "/accounts/{account}/keys", Scope.MONEY)
async def create_customer_key(office: Office, wish: NewKeyWish, by: Actor) -> ShownKey:
    """Make an API key for a customer. Its text, with which their quota can be spent, is in the answer and nowhere
    else."""
    await require_over_customer(office.front_desk, wish.account, by=by)
    order = KeyWish(
        account_id=wish.account,
        name=wish.name,
        quota=_quota(wish.quota_usd),
        expires_at=checked_moment(wish.expires_at),
        only_models=wish.only_models,
        only_networks=_networks(wish.only_networks),
        daily_budget=_quota(wish.daily_usd),
        monthly_budget=_quota(wish.monthly_usd),
    )
    issued = await create_key(order, office.key_maker, office.keys, actor=by.name)
    return ShownKey(issued.key_id, issued.key)


@act("PATCH", "/keys/{key}", Scope.SUPPORT)
async def change_customer_key(office: Office, wish: KeyChangeWish, by: Actor) -> KeyView:
    """Change what a key may do, on every node within two seconds. What is not named stays."""
    unset = msgspec.UNSET
    change = KeyChange(
        name=wish.name,
        quota=unset if wish.quota_usd is unset else _quota(wish.quota_usd),
        expires_at=unset if wish.expires_at is unset else checked_moment(wish.expires_at),
        only_models=wish.only_models,
        only_networks=unset if wish.only_networks is unset else _networks(wish.only_networks),
        daily_budget=unset if wish.daily_usd is unset else _quota(wish.daily_usd),
        monthly_budget=unset if wish.monthly_usd is unset else _quota(wish.monthly_usd),
    )
    account_id = await _owner(office, wish.key, by)
    return key_view(await change_key(wish.key, change, office.keys, account_id=account_id, actor=by.name))


@act("POST", "/keys/{key}/rotate", Scope.MONEY)
async def rotate_customer_key(office: Office, wish: RotateKeyWish, by: Actor) -> ShownKey:
    """Give a key another text; its quota, budgets and history stay. The text is in the answer and nowhere else."""
    account_id = await _owner(office, wish.key, by)
    key, text = office.key_maker.make()
    keep_seconds = wish.keep_hours * 3_600
    await office.keys.rotate(wish.key, text, keep_seconds, account_id=account_id, actor=by.name)
    return ShownKey(wish.key, key)


@act("POST", "/keys/{key}/pause", Scope.SUPPORT)
async def pause_customer_key(office: Office, wish: KeyNumberWish, by: Actor) -> Changed:
    """Refuse a key until it is resumed, on every node within two seconds. Calls that run go on."""
    account_id = await _owner(office, wish.key, by)
    return Changed(await office.keys.pause(wish.key, account_id=account_id, actor=by.name))


@act("POST", "/keys/{key}/resume", Scope.SUPPORT)
async def resume_customer_key(office: Office, wish: KeyNumberWish, by: Actor) -> Changed:
    """Accept a paused key again, on every node within two seconds."""
    account_id = await _owner(office, wish.key, by)
    return Changed(await office.keys.resume(wish.key, account_id=account_id, actor=by.name))


@act("POST", "/keys/{key}/revoke", Scope.SUPPORT)
async def revoke_customer_key(office: Office, wish: KeyNumberWish, by: Actor) -> Changed:
    """Refuse a key from now on, on every node within two seconds."""
    account_id = await _owner(office, wish.key, by)
    return Changed(await office.keys.revoke(wish.key, account_id=account_id, actor=by.name))


async def _owner(office: Office, key: int, by: Actor) -> int:
    """The account that has the key. Raise NotOnFile, or RoleMissing."""
    account_id = await office.keys.owner_of(key)
    await require_over_customer(office.front_desk, account_id, by=by)
    return account_id


def _quota(usd: str | None) -> Quota | None:
    return None if usd is None else quota_from_usd(usd_typed(usd))


def _networks(texts: Sequence[str] | None) -> tuple[Network, ...] | None:
    return None if texts is None else read_networks(texts)


def key_view(key: KeyOnFile) -> KeyView:
    return KeyView(
        key=key.key_id,
        account=key.account_id,
        name=key.name,
        hint=key.hint,
        for_chat=key.for_chat,
        created_at=key.created_at,
        rotated_at=key.rotated_at,
        former_until=key.former_until,
        expires_at=key.expires_at,
        paused_at=key.paused_at,
        revoked_at=key.revoked_at,
        quota=_amount(key.quota),
        used=amount_of(key.used),
        held=amount_of(key.held),
        daily_budget=_amount(key.daily_budget),
        counted_today=amount_of(key.counted_today),
        monthly_budget=_amount(key.monthly_budget),
        counted_this_month=amount_of(key.counted_this_month),
        only_models=key.only_models,
        only_networks=None if key.only_networks is None else list(map(str, key.only_networks)),
    )


def _amount(quota: Quota | None) -> Amount | None:
    return None if quota is None else amount_of(quota)


ACTS = (
    list_keys,
    create_customer_key,
    change_customer_key,
    rotate_customer_key,
    pause_customer_key,
    resume_customer_key,
    revoke_customer_key,
)
