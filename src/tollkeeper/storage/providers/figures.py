"""Provider accounts in figures, in PostgreSQL: what is added up by hours, and the attempts since.

Rules of this file
1. The log is read from the horizon on only, some ten minutes of it. While no worker runs, that grows with the day.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.pool.latency import BUCKETS
from tollkeeper.ports.providers.figures import (
    AccountModelFigures,
    AttemptFigures,
    FailureFigures,
    HourFigures,
)
from tollkeeper.storage.postgres.database import Database

SUMS = "attempts, failed, delivered, input_units, output_units, charged, cost, first_byte"
# Bucket by bucket in one pass: to unnest the counts, and to gather them again, takes twenty times as long.
BUCKET_SUMS = ", ".join(f"coalesce(sum(first_byte[{bucket}]), 0)::bigint" for bucket in range(1, BUCKETS + 1))
# In so many words each time: of a subquery the planner does not know how few hours there are since.
SINCE = "date_trunc('hour', ledger_now(), 'UTC') - make_interval(hours => $1)"
NEXT_DAY = f"(date_trunc('day', {SINCE}, 'UTC') + interval '1 day')"
FIGURES = """
with counted as (
    {rolled_up}
    union all
    select {by}, count(*), count(*) filter (where failed), count(*) filter (where delivered),
           sum(input_units), sum(output_units), sum(charged), sum(cost),
           first_byte_counts(array_agg(first_byte_ms) filter (where not failed))
    from provider_attempts(greatest((select id from provider_horizon), uuid_floor({since})),
                           'ffffffff-ffff-ffff-ffff-ffffffffffff')
    where $2 = '' or account = $2
    group by {by}
)
select {by}, sum(attempts)::bigint as attempts, sum(failed)::bigint as failed, sum(delivered)::bigint as delivered,
       sum(input_units) as input_units, sum(output_units) as output_units, sum(charged) as charged, sum(cost) as cost,
       array[{buckets}] as first_byte
from counted group by {by} order by {by}
"""
# All accounts together, or one of them: each along an index of its own.
HOURS = """select hour, {sums} from service_hour where $2 = '' and hour >= {since}
    union all
    select hour, {sums} from provider_hour where account = $2 and hour >= {since}"""
# The hours of the first day, and the days after it, which are added up as a whole.
OF_ALL = """select {columns} from provider_hour where $2 = '' and hour >= {since} and hour < {next_day}
    union all
    select {columns} from provider_day where $2 = '' and day >= ({next_day} at time zone 'UTC')::date"""
OF_ONE = OF_ALL.replace("$2 = ''", "account = $2")
MODELS = f"{OF_ALL}\n    union all\n    {OF_ONE}".format(
    columns=f"account, model_id, {SUMS}", since=SINCE, next_day=NEXT_DAY
)
BY_HOUR = FIGURES.format(by="hour", rolled_up=HOURS.format(sums=SUMS, since=SINCE), buckets=BUCKET_SUMS, since=SINCE)
BY_MODEL = FIGURES.format(by="account, model_id", rolled_up=MODELS, buckets=BUCKET_SUMS, since=SINCE)
EACH_FAILURE = """
select hour, failure, sum(times)::bigint as times, sum(for_callers)::bigint as for_callers,
       sum(unanswered)::bigint as unanswered
from (select hour, failure, times, for_callers, unanswered from failure_hour
      where hour >= {since} and account = $2
      union all
      select hour, failure, 1, was_last::integer, (was_last and not delivered)::integer
      from provider_attempts(greatest((select id from provider_horizon), uuid_floor({since})),
                             'ffffffff-ffff-ffff-ffff-ffffffffffff')
      where failed and ($2 = '' or account = $2)) each_one
group by hour, failure order by hour, failure
"""
EACH_MODEL = """
select model_id, sum(delivered) as delivered
from ({rolled_up}
      union all
      select model_id, delivered::integer
      from provider_attempts(greatest((select id from provider_horizon), uuid_floor({since})),
                             'ffffffff-ffff-ffff-ffff-ffffffffffff')) h
group by model_id
"""
FAILURES = EACH_FAILURE.format(since=SINCE)
CALLS_BY_MODEL = EACH_MODEL.format(
    rolled_up=OF_ALL.format(columns="model_id, delivered", since=SINCE, next_day=NEXT_DAY), since=SINCE
)


class SqlProviderFigures:
    """The `ProviderFigures` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def by_hour(self, hours: int, account: str = "") -> Sequence[HourFigures]:
        rows = await self._database.rows(BY_HOUR, hours, account)
        return [HourFigures(row["hour"], _figures(row)) for row in rows]

    async def by_model(self, hours: int, account: str = "") -> Sequence[AccountModelFigures]:
        rows = await self._database.rows(BY_MODEL, hours, account)
        return [AccountModelFigures(row["account"], row["model_id"], _figures(row)) for row in rows]

    async def failures(self, hours: int, account: str = "") -> Sequence[FailureFigures]:
        return [FailureFigures(**row) for row in await self._database.rows(FAILURES, hours, account)]

    async def calls_by_model(self, hours: int) -> Mapping[str, int]:
        return {row["model_id"]: int(row["delivered"]) for row in await self._database.rows(CALLS_BY_MODEL, hours, "")}


def _figures(row: Any) -> AttemptFigures:
    return AttemptFigures(
        attempts=row["attempts"],
        failed=row["failed"],
        delivered=row["delivered"],
        input_units=int(row["input_units"]),
        output_units=int(row["output_units"]),
        charged=Quota(int(row["charged"])),
        cost=Quota(int(row["cost"])),
        first_byte=row["first_byte"],
    )
