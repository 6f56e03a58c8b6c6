"""Provider accounts as staff see them. Nothing here has a field for a key."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from tollkeeper.accounts.providers.health import HealthTag, breaker_words, health, health_tag, takes_calls
from tollkeeper.accounts.providers.live import LiveAccount, LiveBreaker, LiveRoom, live_pool
from tollkeeper.office.amounts import Amount, amount_of
from tollkeeper.office.desks import Office
from tollkeeper.ports import ProviderRecord, ProviderStanding, ProviderState


class ProviderRow(msgspec.Struct, frozen=True, kw_only=True):
    """A provider account: its place in the pool, how it is doing, and what it earned in the last 24 hours."""

    name: str
    vendor: str
    base_url: str
    state: ProviderState
    takes_calls: bool
    # In a word, and in words.
    tag: HealthTag
    health: str
    # Breakers that are not closed, of the account and of its models, by what the nodes told in the last seconds.
    breakers: Sequence[LiveBreaker]
    # What is used of its limits; null where no node tells.
    in_use: LiveRoom | None
    suspended_at: datetime | None
    suspended_because: str | None
    tier: int
    weight: int
    # The part of its tier's calls that its weight gives it, in percent, while all that take calls now serve the model.
    share_percent: float
    requests_per_minute: int | None
    tokens_per_minute: int | None
    concurrency: int | None
    # How many it serves; None: all of its family, or all there are.
    models: int | None
    family: str | None
    rejects: Sequence[str]
    passes: Sequence[str]
    # Of the last ten minutes.
    attempts: int
    failed: int
    first_byte_ms: int | None
    # Of the last 24 hours.
    delivered: int
    charged: Amount
    cost: Amount
    margin: Amount


class ProviderDetails(msgspec.Struct, frozen=True, kw_only=True):
    """All that is kept about a provider account, but its key."""

    account: int
    standing: ProviderRow
    # By our id of a model, the provider's name for it; None: all of its family, or all there are, under our own names.
    model_names: Mapping[str, str] | None
    # What it costs us, as a part of the list price.
    cost_multiplier: str
    api_version: str | None
    created_at: datetime


async def provider_rows(office: Office) -> list[ProviderRow]:
    """By tier and name."""
    families = {record.name: record.family for record in await office.providers.records()}
    standings, live = await office.providers.standing(), live_pool(await office.pool_reports())
    private_allowed = office.provider_terms.private_allowed
    open_for_calls = {each.name for each in standings if takes_calls(each, private_allowed=private_allowed)}
    sums = _weights([each for each in standings if each.name in open_for_calls])
    return [
        _row(
            each,
            live.accounts.get(each.name, LiveAccount()) if live.processes else None,
            family=families.get(each.name),
            private_allowed=private_allowed,
            share_percent=_percent(each, sums) if each.name in open_for_calls else 0.0,
            takes_calls=each.name in open_for_calls,
        )
        for each in standings
    ]


async def existing_accounts(office: Office) -> frozenset[str]:
    """By name. Receipts and figures also know accounts that were removed, and these have no page."""
    return frozenset(record.name for record in await office.providers.records())


def details_of(record: ProviderRecord, row: ProviderRow) -> ProviderDetails:
    return ProviderDetails(
        account=record.id,
        standing=row,
        model_names=record.models,
        cost_multiplier=f"{record.cost_multiplier.normalize():f}",
        api_version=record.api_version,
        created_at=record.created_at,
    )


def _weights(standings: Iterable[ProviderStanding]) -> Mapping[int, int]:
    """By tier, the weights of its accounts together."""
    sums: dict[int, int] = {}
    for each in standings:
        sums[each.place.tier] = sums.get(each.place.tier, 0) + each.place.weight
    return sums


def _percent(standing: ProviderStanding, sums: Mapping[int, int]) -> float:
    together = sums[standing.place.tier]
    return round(100 * standing.place.weight / together, 1) if together else 0.0


def _row(
    standing: ProviderStanding,
    live: LiveAccount | None,
    *,
    family: str | None,
    private_allowed: bool,
    share_percent: float,
    takes_calls: bool,
) -> ProviderRow:
    place, known = standing.place, live or LiveAccount()
    out = [breaker_words(breaker) for breaker in known.breakers] if takes_calls else []
    return ProviderRow(
        name=standing.name,
        vendor=standing.vendor,
        base_url=standing.base_url,
        state=standing.state,
        takes_calls=takes_calls,
        tag=health_tag(standing, known, private_allowed=private_allowed),
        health="; ".join([*out, health(standing, private_allowed=private_allowed)]),
        breakers=known.breakers,
        in_use=None if live is None else live.room,
        suspended_at=standing.suspended_at,
        suspended_because=standing.suspended_because,
        tier=place.tier,
        weight=place.weight,
        share_percent=share_percent,
        requests_per_minute=place.requests_per_minute,
        tokens_per_minute=place.tokens_per_minute,
        concurrency=place.concurrency,
        models=standing.models,
        family=family,
        rejects=sorted(standing.rejects),
        passes=sorted(standing.passes),
        attempts=standing.attempts,
        failed=standing.failed,
        first_byte_ms=standing.first_byte_ms,
        delivered=standing.delivered,
        charged=amount_of(standing.charged),
        cost=amount_of(standing.cost),
        margin=amount_of(standing.charged - standing.cost),
    )
