"""Groups of accounts: what they may call in a minute, and by how much the prices of the book are multiplied for them.

Rules of this file
1. A group's multiplier holds for calls that are admitted from then on, on every node within two seconds, and for the
   price pages of its accounts. Calls under way, and receipts, keep the multiplier that they were admitted with.
2. It waits for no notice, as prices do: so it always needs a reason.
3. A group that has accounts, or that a model is only for, is not removed; nor is the one of new accounts.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from tollkeeper.accounts.price_parts import PriceRefused, multiplier_typed
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.catalog.price_book import DEFAULT_GROUP
from tollkeeper.core.limits.windows import Rates
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, Paging, listed
from tollkeeper.office.price_wishes import Multiplier
from tollkeeper.office.wishes import Changed, ReasonText
from tollkeeper.ports import GroupRecord, GroupTerms, NotOnFile, StillInUse

LIMIT_MOST = 2**31 - 1
# A slip of the pen would make every call of a group that much dearer at once.
MULTIPLIER_MOST = 1_000

GroupName = Annotated[str, msgspec.Meta(min_length=1, max_length=64, description="The group's name.")]
Limit = Annotated[int, msgspec.Meta(ge=1, le=LIMIT_MOST)]
RatesByName = Annotated[
    dict[Annotated[str, msgspec.Meta(max_length=128)], Limit | None], msgspec.Meta(max_length=1_000)
]


class GroupWish(msgspec.Struct, frozen=True, kw_only=True):
    group: GroupName


class GroupReason(GroupWish, frozen=True, kw_only=True):
    reason: ReasonText


class GroupRatesWish(GroupWish, frozen=True, kw_only=True):
    """What accounts of a group may call in any 60 seconds: what is not named stays as it is, null is no limit. Of kinds
    and models, null is: as the others have."""

    key_rate: Limit | UnsetType | None = UNSET
    standard_rate: Limit | UnsetType | None = UNSET
    peak_percent: Annotated[int, msgspec.Meta(ge=100, le=1_000)] | UnsetType = UNSET
    kind_rates: RatesByName = msgspec.field(default_factory=dict)
    model_rates: RatesByName = msgspec.field(default_factory=dict)
    tokens_per_minute: Limit | UnsetType | None = UNSET
    concurrency: Limit | UnsetType | None = UNSET


class NewGroupWish(GroupRatesWish, frozen=True, kw_only=True):
    multiplier: Multiplier = "1"
    reason: ReasonText = ""


class GroupChangeWish(GroupRatesWish, frozen=True, kw_only=True):
    # None: it stays. Another one needs a reason.
    multiplier: Multiplier | None = None
    reason: ReasonText = ""


class GroupTermsView(msgspec.Struct, frozen=True, kw_only=True):
    """`multiplier`: by how much the prices of the book are multiplied. A limit of null is none."""

    name: str
    multiplier: str
    key_rate: int | None
    standard_rate: int | None
    peak_percent: int
    kind_rates: Mapping[str, int]
    model_rates: Mapping[str, int]
    tokens_per_minute: int | None
    concurrency: int | None


class GroupView(GroupTermsView, frozen=True, kw_only=True):
    accounts: int


@act("GET", "/groups", Scope.READ)
async def list_groups(office: Office, wish: Paging, by: Actor) -> Listed[GroupView]:
    """Every group, with its price multiplier and its rates: calls in any 60 seconds."""
    after = wish.after_name() or ""
    found = [group for group in await office.groups.groups() if group.name > after]
    return listed([_view(group) for group in found[: wish.limit + 1]], wish.limit, lambda group: group.name)


@act("GET", "/groups/{group}", Scope.READ)
async def show_group(office: Office, wish: GroupWish, by: Actor) -> GroupView:
    """One group, with its price multiplier and its rates."""
    for group in await office.groups.groups():
        if group.name == wish.group:
            return _view(group)
    raise NotOnFile(f"There is no group '{wish.group}'.")


@act("POST", "/groups", Scope.CATALOG)
async def create_group(office: Office, wish: NewGroupWish, by: Actor) -> GroupTermsView:
    """Make a group. What is not said is as everybody has it: 60 calls in any 60 s, at peak 120."""
    rates, multiplier = _changed(Rates(), wish), group_multiplier(wish.multiplier)
    await office.groups.add(wish.group, rates, actor=by.name, multiplier=multiplier)
    return _terms_view(wish.group, GroupTerms(rates=rates, multiplier=multiplier))


@act("POST", "/groups/{group}/change", Scope.CATALOG)
async def change_group(office: Office, wish: GroupChangeWish, by: Actor) -> GroupTermsView:
    """Change a group's rates or its price multiplier, on every node within two seconds. What is not named stays."""
    multiplier = None if wish.multiplier is None else group_multiplier(wish.multiplier)
    reason = checked_reason(wish.reason) if wish.reason or multiplier is not None else ""

    def change(terms: GroupTerms) -> GroupTerms:
        return GroupTerms(
            rates=_changed(terms.rates, wish), multiplier=terms.multiplier if multiplier is None else multiplier
        )

    return _terms_view(wish.group, await office.groups.change(wish.group, change, actor=by.name, reason=reason))


@act("POST", "/groups/{group}/remove", Scope.CATALOG)
async def remove_group(office: Office, wish: GroupReason, by: Actor) -> Changed:
    """Remove a group that has no accounts, and that no model is only for."""
    if wish.group == DEFAULT_GROUP:
        raise StillInUse(f"New accounts are put into the group '{DEFAULT_GROUP}': it stays. Nothing was removed.")
    await office.groups.remove(wish.group, checked_reason(wish.reason), actor=by.name)
    return Changed(changed=True)


def group_multiplier(text: str) -> Decimal:
    """Raise PriceRefused."""
    multiplier = multiplier_typed(text)
    if multiplier > MULTIPLIER_MOST:
        raise PriceRefused(f"A group's multiplier is at most {MULTIPLIER_MOST:,}. Nothing was changed.")
    return multiplier


def _changed(rates: Rates, wish: GroupRatesWish) -> Rates:
    plain = ("key_rate", "standard_rate", "peak_percent", "tokens_per_minute", "concurrency")
    named = {name: getattr(wish, name) for name in plain if getattr(wish, name) is not UNSET}
    return msgspec.structs.replace(
        rates,
        **named,
        kind_rates=_without_none({**rates.kind_rates, **wish.kind_rates}),
        model_rates=_without_none({**rates.model_rates, **wish.model_rates}),
    )


def _without_none(rates: Mapping[str, int | None]) -> dict[str, int]:
    return {name: rate for name, rate in sorted(rates.items()) if rate is not None}


def _view(group: GroupRecord) -> GroupView:
    return GroupView(
        name=group.name, accounts=group.accounts, multiplier=group.multiplier, **msgspec.structs.asdict(group.rates)
    )


def _terms_view(name: str, terms: GroupTerms) -> GroupTermsView:
    return GroupTermsView(name=name, multiplier=f"{terms.multiplier:.6f}", **msgspec.structs.asdict(terms.rates))


ACTS = (list_groups, show_group, create_group, change_group, remove_group)
