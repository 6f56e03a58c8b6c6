"""What real calls would have cost at another price, in PostgreSQL: by what was added up, and by the calls since.

Rules of this file
1. The days that are added up are reckoned by account, and rounded once: to within half a unit a call of what the calls
   would have been charged. The calls since are reckoned one by one.
2. Tiers go by the length of a call, and tools by its uses: where either price has some, its calls are read one by one.
   Of more than a few thousand, some are read from each stretch of the time, and the preview says of how many: its sums
   are those of the calls that were read, and nothing is reckoned up from them.
"""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

import asyncpg
import msgspec

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.parts import OF_INPUT, OF_OUTPUT
from tollkeeper.core.money.prices import MILLIONTHS, Price
from tollkeeper.ports.catalog.prices import Effect, Preview, PreviewTooLong
from tollkeeper.storage.catalog.models import parts_text
from tollkeeper.storage.postgres.database import Database

# What a price can put a figure on.
UNITS = ("input_units", "cached_units", "output_units", *OF_INPUT, *OF_OUTPUT, "counted")
# What nothing was charged for, whatever it had used, costs nothing at any price.
TEMPLATE = """
with first as (
    select (ledger_now() at time zone 'UTC')::date - $1::integer as day
), log_from as (
    select case when $12 then midnight else greatest(midnight, (select id from price_horizon)) end as id
    from (select uuid_floor(day::timestamp at time zone 'UTC') as midnight from first) f
), prices as (
    select id from price where model_id = $2 and variant = $3
), days as (
    select account_id, group_millionths, sum(calls) as calls, sum(charged) as charged, {sums}
    from price_day
    where not $12 and price_id in (select id from prices) and day >= (select day from first)
    group by account_id, group_millionths
), used as (
    select account_id, calls, charged, round(group_millionths * ({old}) / 1e12) as old,
           round(group_millionths * ({new}) / 1e12) as new
    from days
    union all
    select account_id, 1, charged,
           case when usage_source = 'none' then 0
                else priced(group_millionths, $4, $5, $6, $7::text::jsonb, input_units, cached_units, output_units,
                            parts) end,
           case when usage_source = 'none' then 0
                else priced(group_millionths, $8, $9, $10, $11::text::jsonb, input_units, cached_units, output_units,
                            parts) end
    from ({read}) r
), accounts as (
    select account_id, sum(calls) as calls, sum(charged) as charged, sum(old) as old, sum(new) as new
    from used group by account_id
)
select null::bigint as account_id, coalesce(sum(calls), 0) as calls, coalesce(sum(charged), 0) as charged,
       coalesce(sum(old), 0) as old, coalesce(sum(new), 0) as new, count(*) as accounts,
       count(*) filter (where new > old) as dearer, count(*) filter (where new < old) as cheaper
from accounts
union all
(select account_id, calls, charged, old, new, 0, 0, 0
 from accounts order by abs(new - old) desc, account_id limit $13)
"""
ALL = "select * from usage where request_id >= (select id from log_from) and price_id in (select id from prices)"
# Equal stretches of the time from the first midnight until now, and the first calls of each.
SAMPLE = """
    select u.* from prices p
    cross join (select day::timestamp at time zone 'UTC' as midnight from first) f
    cross join generate_series(0, {stretches} - 1) n
    cross join lateral (select (ledger_now() - f.midnight) / {stretches} as length) s
    cross join lateral (
        select * from usage
        where price_id = p.id and request_id >= uuid_floor(f.midnight + s.length * n)
          and request_id < uuid_floor(f.midnight + s.length * (n + 1))
        order by request_id limit {each}) u
"""
IN_ALL = """
with first as (
    select (ledger_now() at time zone 'UTC')::date - $1::integer as day
), prices as (
    select id from price where model_id = $2 and variant = $3
)
select (select coalesce(sum(calls), 0) from price_day
        where price_id in (select id from prices) and day >= (select day from first))
     + (select count(*) from usage
        where price_id in (select id from prices)
          and request_id >= greatest((select id from price_horizon),
                                     (select uuid_floor(day::timestamp at time zone 'UTC') from first)))
"""
# So many calls are read one by one in a tenth of a second or two.
CALLS_MOST = 4_000
EACH_STRETCH = 20
# A place among those who read for long is waited for, too.
WAITING_SECONDS = 5.0


class ReadingBounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much one preview reads. Nobody's page keeps a connection for longer."""

    seconds: float = 20.0
    # One by one; of more, a sample. None: all of them, however many.
    calls: int | None = CALLS_MOST


OF_A_PAGE = ReadingBounds()


async def preview_of(
    database: Database, old: Price, new: Price, since: timedelta, *, accounts_most: int, bounds: ReadingBounds
) -> Preview:
    """What the calls of today and of the days before it would have cost. Raise PreviewTooLong."""
    by_call = any(price.parts is not None and (price.parts.tiers or price.parts.tools) for price in (old, new))
    worths = _worth(old), _worth(new)
    asked = (since.days, old.model_id, old.variant, *_figures(old), *_figures(new), by_call, accounts_most)
    async with database.session(patience_seconds=bounds.seconds + WAITING_SECONDS) as connection:
        try:
            async with connection.transaction(readonly=True):
                await connection.execute(f"set local statement_timeout = '{round(bounds.seconds * 1_000)}ms'")
                in_all = int(await connection.fetchval(IN_ALL, *asked[:3])) if by_call and bounds.calls else 0
                is_sample = bounds.calls is not None and in_all > bounds.calls
                read = _sample(bounds.calls) if bounds.calls and is_sample else ALL
                total, *accounts = await connection.fetch(_effect_sql(*worths, read), *asked, *worths)
        except asyncpg.QueryCanceledError as problem:
            raise PreviewTooLong(since.days, bounds.seconds) from problem
    return Preview(
        old=old,
        new=new,
        total=_effect(total),
        calls_in_all=in_all if is_sample else int(total["calls"]),
        accounts=[_effect(row) for row in accounts],
        accounts_in_all=total["accounts"],
        dearer_for=total["dearer"],
        cheaper_for=total["cheaper"],
    )


def _sample(calls_most: int) -> str:
    each = min(EACH_STRETCH, calls_most)
    return SAMPLE.format(stretches=calls_most // each, each=each)


def _effect_sql(old: Sequence[Decimal], new: Sequence[Decimal], read: str) -> str:
    """Only what either price has a figure for is added up: most have few, and NUMERIC takes its time."""
    places = [place for place in range(len(UNITS)) if old[place] or new[place] or place == 0]
    return TEMPLATE.format(
        read=read,
        sums=", ".join(f"sum({UNITS[place]}) as {UNITS[place]}" for place in places),
        old=" + ".join(f"{UNITS[place]} * ($14::numeric[])[{place + 1}]" for place in places),
        new=" + ".join(f"{UNITS[place]} * ($15::numeric[])[{place + 1}]" for place in places),
    )


def _worth(price: Price) -> list[Decimal]:
    """What one of each of `UNITS` adds to a call of a group whose multiplier is 1, in units of the formula. Input and
    output have the parts in them, so these add what they cost beyond that."""
    weights = [
        price.input,
        price.cached - price.input,
        price.completion,
        *(price.weight(part) - price.input for part in OF_INPUT),
        *(price.weight(part) - price.completion for part in OF_OUTPUT),
    ]
    per_call = 0 if price.parts is None else price.parts.per_call
    return [Decimal(price.model * weight) for weight in weights] + [Decimal(per_call * MILLIONTHS)]


def _figures(price: Price) -> tuple[object, ...]:
    multipliers = (Decimal(figure) / MILLIONTHS for figure in (price.model, price.completion, price.cached))
    return (*multipliers, parts_text(price.parts))


def _effect(row: asyncpg.Record) -> Effect:
    return Effect(
        account_id=row["account_id"],
        calls=int(row["calls"]),
        charged=Quota(int(row["charged"])),
        old=Quota(int(row["old"])),
        new=Quota(int(row["new"])),
    )
