"""What wants a person: each matter in one sentence, with what it is about, so that a page can lead there.

Rules of this file
1. A matter is told as long as it lasts, and no longer: nothing is ticked off here.
2. What costs callers something comes first.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from tollkeeper.accounts.providers.health import HealthTag
from tollkeeper.accounts.providers.live import own_latency_ms
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.core.pool.breaker import BreakerState
from tollkeeper.office.act import act
from tollkeeper.office.amounts import Amount, amount_of
from tollkeeper.office.desks import Office
from tollkeeper.office.house import BOOKS_JOB
from tollkeeper.office.lists import Listed
from tollkeeper.office.provider_views import ProviderRow, provider_rows
from tollkeeper.office.wishes import NoWish
from tollkeeper.ports.house import AnnouncedPrice
from tollkeeper.ports.jobs import JobRecord

# A job is late when it was due so long ago; one that is done more often, when it missed its turn.
LATE_SECONDS = 600.0
OUT = (HealthTag.SUSPENDED, HealthTag.OUT, HealthTag.FAILING, HealthTag.NOT_CALLED)


class MatterKind(StrEnum):
    BOOKS = "books"
    PROVIDER = "provider"
    HOLDS = "holds"
    JOB = "job"
    DISPUTES = "disputes"
    RESETS = "resets"
    WITHDRAWALS = "withdrawals"
    LOTS = "lots"
    PRICE = "price"


class Matter(msgspec.Struct, frozen=True, kw_only=True):
    kind: MatterKind
    # Of a provider account or job its name, of a price its model; empty where there is one only.
    subject: str
    told: str


class HouseView(msgspec.Struct, frozen=True, kw_only=True):
    """Calls under way, how fast the stores answer, and our own part of the calls of the last five minutes."""

    open_holds: int
    held: Amount
    oldest_hold_seconds: float
    overdue_holds: int
    database_ms: float
    # Null: Redis does not answer.
    redis_ms: float | None
    # Processes of the gateway that are heard of.
    processes: int
    # Null where there was no call.
    own_p50_ms: float | None
    own_p99_ms: float | None
    # Lots that lapse within seven days with something left in them.
    lapsing_lots: int
    lapsing_accounts: int
    lapsing: Amount
    # What waits for staff: disputed charges, resets for a second person, withdrawals to be decided or paid.
    open_disputes: int
    waiting_resets: int
    open_withdrawals: int
    # Prices that are announced, the soonest first.
    announced_prices: Sequence[AnnouncedPrice]


@act("GET", "/house", Scope.READ)
async def show_house(office: Office, wish: NoWish, by: Actor) -> HouseView:
    """How the house is at this moment: open holds, the stores, and our own latency."""
    facts, reports = await office.house_facts(), await office.pool_reports()
    pools = [report.pool for report in reports]
    return HouseView(
        open_holds=facts.open_holds,
        held=amount_of(facts.held),
        oldest_hold_seconds=facts.oldest_hold_seconds,
        overdue_holds=facts.overdue_holds,
        database_ms=facts.database_ms,
        redis_ms=facts.redis_ms,
        processes=len(reports),
        own_p50_ms=own_latency_ms(pools, 50),
        own_p99_ms=own_latency_ms(pools, 99),
        lapsing_lots=facts.lapsing_lots,
        lapsing_accounts=facts.lapsing_accounts,
        lapsing=amount_of(facts.lapsing),
        open_disputes=facts.open_disputes,
        waiting_resets=facts.waiting_resets,
        open_withdrawals=facts.open_withdrawals,
        announced_prices=facts.announced_prices,
    )


@act("GET", "/attention", Scope.READ)
async def list_attention(office: Office, wish: NoWish, by: Actor) -> Listed[Matter]:
    """What wants a person now: books that are not clean, provider accounts that are out, jobs that are late, …"""
    house, jobs = await show_house(office, wish, by), await office.jobs_on_record()
    return Listed(matters_of(house, await provider_rows(office), jobs, await office.prices.now()))


def matters_of(
    house: HouseView, providers: Sequence[ProviderRow], jobs: Sequence[JobRecord], now: datetime
) -> list[Matter]:
    """The same of what was asked for already."""
    return [
        *_of_books(jobs),
        *_of_providers(providers),
        *_of_holds(house),
        *_of_jobs(jobs, now),
        *_of_people(house),
        *_of_lots(house),
        *_of_prices(house),
    ]


def is_late(job: JobRecord, now: datetime) -> bool:
    return now > job.due_at + timedelta(seconds=max(60.0, min(job.every_seconds, LATE_SECONDS)))


def _of_books(jobs: Iterable[JobRecord]) -> Iterator[Matter]:
    for job in jobs:
        if job.name == BOOKS_JOB and job.judged_well is False and job.judged_at is not None:
            told = (
                f"The books were not clean when they were checked on {job.judged_at:%Y-%m-%d %H:%M} UTC. See "
                "`tollkeeper books check` for what does not add up."
            )
            yield Matter(kind=MatterKind.BOOKS, subject="", told=told)


def _of_providers(rows: Iterable[ProviderRow]) -> Iterator[Matter]:
    for row in rows:
        if row.tag in OUT:
            told = f"{row.name}: {row.health}."
        elif row.tag is HealthTag.PARTLY:
            is_open = [breaker for breaker in row.breakers if breaker.state is BreakerState.OPEN]
            models = ", ".join(breaker.model for breaker in is_open if breaker.model)
            told = f"{row.name} is out for {models}. Calls of these go to other accounts, if there are any."
        else:
            continue
        yield Matter(kind=MatterKind.PROVIDER, subject=row.name, told=told)


def _of_holds(house: HouseView) -> Iterator[Matter]:
    if house.overdue_holds:
        told = (
            f"{house.overdue_holds} calls hold quota for longer than a call can take. A worker closes such holds: is "
            "one running?"
        )
        yield Matter(kind=MatterKind.HOLDS, subject="", told=told)


def _of_jobs(jobs: Iterable[JobRecord], now: datetime) -> Iterator[Matter]:
    for job in jobs:
        if is_late(job, now):
            told = f"The job {job.name} was due on {job.due_at:%Y-%m-%d %H:%M} UTC and was not done. Is a worker up?"
        elif job.went_well is False and job.name != BOOKS_JOB:
            told = f"The job {job.name} failed: {job.outcome or 'no reason is known'}"
        else:
            continue
        yield Matter(kind=MatterKind.JOB, subject=job.name, told=told)


def _of_people(house: HouseView) -> Iterator[Matter]:
    waiting = (
        (MatterKind.DISPUTES, house.open_disputes, "Disputed charges that wait for an answer"),
        (MatterKind.RESETS, house.waiting_resets, "Resets that wait for a second person"),
        (MatterKind.WITHDRAWALS, house.open_withdrawals, "Withdrawals to be decided or paid"),
    )
    for kind, how_many, words in waiting:
        if how_many:
            yield Matter(kind=kind, subject="", told=f"{words}: {how_many:,}.")


def _of_lots(house: HouseView) -> Iterator[Matter]:
    if house.lapsing_lots:
        whose = "1 customer" if house.lapsing_accounts == 1 else f"{house.lapsing_accounts} customers"
        told = f"Lots of {whose} lapse within seven days, with {house.lapsing.usd} USD left in them."
        yield Matter(kind=MatterKind.LOTS, subject="", told=told)


def _of_prices(house: HouseView) -> Sequence[Matter]:
    return [
        Matter(
            kind=MatterKind.PRICE,
            subject=price.model,
            told=f"The price of {' '.join(filter(None, (price.model, price.variant)))} changes on "
            f"{price.effective_from:%Y-%m-%d %H:%M} UTC.",
        )
        for price in house.announced_prices
    ]


ACTS = (show_house, list_attention)
