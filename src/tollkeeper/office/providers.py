"""Provider accounts: added, changed, removed, and how each is doing.

Rules of this file
1. A provider's key comes in and never out: no result, message or row of the audit trail has it.
2. A key is shown only to the host that it was given for. Whoever changes the host gives the key anew.
"""

from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from tollkeeper.accounts.providers.description import (
    BadDescription,
    check_address,
    check_api_version,
    check_key,
    check_name,
    check_passes,
    check_rejects,
    check_vendor,
    cost_typed,
    host_of,
    is_same_place,
)
from tollkeeper.accounts.providers.served_models import ServedModels, served_models
from tollkeeper.accounts.reasons import checked_reason
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.lists import Listed, listed
from tollkeeper.office.provider_trials import ProviderTrial, trial_before_adding
from tollkeeper.office.provider_views import ProviderDetails, ProviderRow, details_of, provider_rows
from tollkeeper.office.provider_wishes import (
    NewProviderWish,
    ProviderChangeWish,
    ProviderReason,
    ProvidersWish,
    ProviderWish,
)
from tollkeeper.office.wishes import Changed
from tollkeeper.ports import NewProviderAccount, NotOnFile, ProviderChange, ProviderRecord
from tollkeeper.ports.providers.desk import require_names

# Fields of a change that need no look at the account.
TAKEN_AS_GIVEN = ("tier", "weight", "requests_per_minute", "tokens_per_minute", "concurrency", "api_version")

WishedValue = TypeVar("WishedValue")


class MadeProvider(msgspec.Struct, frozen=True, kw_only=True):
    account: int
    # How many models it serves; None: all of its family, or all there are.
    models: int | None
    family: str | None
    # What the calls came to that were made before it was added; None: none were asked for.
    trial: ProviderTrial | None


@act("GET", "/providers", Scope.READ)
async def list_providers(office: Office, wish: ProvidersWish, by: Actor) -> Listed[ProviderRow]:
    """Every provider account by tier and name: its place in the pool, how it is doing, and what it earned in the last
    24 hours."""
    after = wish.after_key(tuple[int, str])
    rows = [
        row
        for row in await provider_rows(office)
        if wish.find in row.name
        and wish.vendor in ("", row.vendor)
        and wish.tag in (None, row.tag)
        and (after is None or (row.tier, row.name) > after)
    ]
    return listed(rows[: wish.limit + 1], wish.limit, lambda row: (row.tier, row.name))


@act("GET", "/providers/{name}", Scope.READ)
async def show_provider(office: Office, wish: ProviderWish, by: Actor) -> ProviderDetails:
    """All that is kept about a provider account, but its key."""
    record = await office.providers.record(wish.name)
    for row in await provider_rows(office):
        if row.name == wish.name:
            return details_of(record, row)
    raise NotOnFile(f"There is no provider account '{wish.name}'.")


@act("POST", "/providers", Scope.CATALOG)
async def add_provider(office: Office, wish: NewProviderWish, by: Actor) -> MadeProvider:
    """Add a provider account, tested before if that is asked for. Its key is sealed and never shown again."""
    terms = office.provider_terms
    check_name(wish.name)
    check_vendor(wish.vendor, terms)
    check_rejects(wish.rejects, terms)
    check_passes(wish.passes, wish.vendor, terms)
    check_api_version(wish.api_version)
    check_key(wish.key)
    cost = cost_typed(wish.cost_multiplier)
    check_address(wish.base_url, insecure_http=wish.insecure_http, private_allowed=terms.private_allowed)
    require_names(wish.models)
    served = served_models(
        wish.models,
        every_model=wish.all_models,
        vendor=wish.vendor,
        base_url=wish.base_url,
        sold=await office.providers.sold_models(),
    )
    account = NewProviderAccount(
        name=wish.name,
        vendor=wish.vendor,
        base_url=wish.base_url,
        secret=wish.key,
        place=_place(wish),
        models=served.models,
        family=served.family,
        cost=cost,
        rejects=frozenset(wish.rejects),
        passes=frozenset(wish.passes),
        api_version=wish.api_version,
    )
    trial = await trial_before_adding(office, account) if wish.tested else None
    number = await office.providers.add(account, actor=by.name)
    return MadeProvider(
        account=number,
        models=None if served.models is None else len(served.models),
        family=served.family,
        trial=trial,
    )


@act("PATCH", "/providers/{name}", Scope.CATALOG)
async def change_provider(office: Office, wish: ProviderChangeWish, by: Actor) -> Changed:
    """Change a provider account; what is left out stays as it is. Another host needs the account's key there."""
    record, terms = await office.providers.record(wish.name), office.provider_terms
    check_rejects(_set(wish.rejects, []), terms)
    check_passes(_set(wish.passes, []), record.vendor, terms)
    check_api_version(_set(wish.api_version, None))
    _check_new_address(office, record, wish)
    served = await _served_anew(office, record, wish)
    change = ProviderChange(
        judged_address=record.base_url,
        base_url=wish.base_url,
        secret=wish.key,
        models=UNSET if served is None else served.models,
        family=UNSET if served is None else served.family,
        cost_multiplier=UNSET if wish.cost_multiplier is UNSET else cost_typed(wish.cost_multiplier),
        rejects=UNSET if wish.rejects is UNSET else sorted(set(wish.rejects)),
        passes=UNSET if wish.passes is UNSET else sorted(set(wish.passes)),
        **{field: getattr(wish, field) for field in TAKEN_AS_GIVEN},
    )
    return Changed(await office.providers.change(wish.name, change, actor=by.name))


@act("DELETE", "/providers/{name}", Scope.CATALOG)
async def remove_provider(office: Office, wish: ProviderReason, by: Actor) -> Changed:
    """Remove a provider account that is paused or drained, and its key with it. Calls of the past stay on record under
    its name, and no other account can have that name."""
    await office.providers.remove(wish.name, checked_reason(wish.reason), actor=by.name)
    return Changed(True)


def _place(wish: NewProviderWish) -> PoolPlace:
    return PoolPlace(
        tier=wish.tier,
        weight=wish.weight,
        requests_per_minute=wish.requests_per_minute,
        tokens_per_minute=wish.tokens_per_minute,
        concurrency=wish.concurrency,
    )


def _check_new_address(office: Office, record: ProviderRecord, wish: ProviderChangeWish) -> None:
    """Raise BadDescription where the address will not do, or its host has not been given a key."""
    moves = False
    if wish.base_url is not UNSET and wish.base_url != record.base_url:
        private_allowed = office.provider_terms.private_allowed
        check_address(wish.base_url, insecure_http=wish.insecure_http, private_allowed=private_allowed)
        moves = not is_same_place(record.base_url, wish.base_url)
        if moves and wish.key is UNSET:
            raise BadDescription(
                f"The key of '{record.name}' was given for {host_of(record.base_url)}, and is not sent to another "
                "place. Give the key for the new address with it (on the command line: --with-key). Nothing was "
                "changed."
            )
    if wish.key is not UNSET:
        if not moves:
            raise BadDescription(
                "A key is given with another host only. Another key at the same host is tested first: `tollkeeper "
                "provider rotate-key`. Nothing was changed."
            )
        check_key(wish.key)


async def _served_anew(office: Office, record: ProviderRecord, wish: ProviderChangeWish) -> ServedModels | None:
    """What it serves from now on; None: as before."""
    base_url = _set(wish.base_url, record.base_url)
    models = _set(wish.models, None)
    # A family is that of an address, and is looked at again with another.
    stays = record.family is None or wish.base_url is UNSET
    if wish.models is UNSET and not wish.all_models and stays:
        return None
    require_names(models)
    sold = {*await office.providers.sold_models(), *(record.models or ())}
    return served_models(models, every_model=wish.all_models, vendor=record.vendor, base_url=base_url, sold=sold)


def _set(given: WishedValue | UnsetType, otherwise: WishedValue) -> WishedValue:
    return otherwise if isinstance(given, UnsetType) else given


ACTS = (list_providers, show_provider, add_provider, change_provider, remove_provider)
