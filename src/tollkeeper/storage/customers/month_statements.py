"""Statements by month, in PostgreSQL.

Rules of this file
1. What there was at an instant: all that was granted less all that went. Debt counts as what is missing, and paying it
   takes from a lot what was missing already. A call belongs to the month in which it began, as its id says.
2. What calls cost is read from the sums by day, and from the log for what is not added up yet: a receipt is what the
   ledger charged (I3), and what an account used is the sum of it (I10). So a month of a million calls is read at once.
3. The ledger is never cleaned, the usage log is, and its sums with it; only they know models. Where a day since then
   was cleaned, the ledger is read call by call, and what calls cost that are no longer in the log is one line.
"""

from collections.abc import Sequence
from datetime import datetime

import asyncpg

from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.lots import Item, MonthFigures, StatementLine
from tollkeeper.storage.postgres.database import Database

PATIENCE_SECONDS = 600.0

IS_CLEANED = "select exists (select from usage_dropped where day >= $1::date)"
# By model: how many calls began in the month and what they cost, and what calls cost that began after it.
SPENT = """
with horizon as (select id from usage_horizon), calls as (
    select model_id, day < ($3 at time zone 'UTC')::date as within, calls, charged from usage_day
    where account_id = $1 and day >= ($2 at time zone 'UTC')::date
    union all
    select p.model_id, u.request_id < uuid_floor($3), 1, u.charged
    from horizon, usage u join price p on p.id = u.price_id
    where u.account_id = $1 and u.request_id >= greatest(horizon.id, uuid_floor($2)))
select model_id, coalesce(sum(calls) filter (where within), 0) as calls,
       coalesce(sum(charged) filter (where within), 0) as charged,
       coalesce(sum(charged) filter (where not within), 0) as charged_later
from calls group by 1 order by 1
"""
USED = "select used from account_books where account_id = $1"
GRANTED_LESS_OTHERS = """
select (select coalesce(sum(granted), 0) from lot where account_id = $1 and created_at < $2)
     - (select coalesce(sum(amount), 0) from entry
        where account_id = $1 and cause < uuid_floor($2) and kind not in ('charged', 'overrun', 'debt')
          and kind <> 'debt_paid')
"""

SPENT_BY_LEDGER = """
with spent as (
    select e.cause, e.amount, coalesce(p.model_id, 'calls no longer in the log') as detail
    from entry e left join usage u on u.request_id = e.cause left join price p on p.id = u.price_id
    where e.account_id = $1 and e.cause >= uuid_floor($2) and e.cause < uuid_floor($3)
      and e.kind in ('charged', 'overrun', 'debt'))
select detail as model_id, count(distinct cause) as calls, sum(amount) as charged from spent group by 1 order by 1
"""
SPENT_BEFORE = """
select coalesce(sum(amount), 0) from entry
where account_id = $1 and cause < uuid_floor($2) and kind in ('charged', 'overrun', 'debt')
"""

OTHER_LINES = """
select case source when 'redemption' then 'top-up' when 'operator' then 'top-up' when 'gift' then 'gift'
                   when 'faucet' then 'faucet' else 'other credit' end as item,
       count(*) as count, sum(granted) as amount, 0 as place
from lot where account_id = $1 and created_at >= $2 and created_at < $3 group by 1
union all
select case kind when 'expired' then 'expired' else 'revoked' end, count(distinct cause), -sum(amount), 1
from entry
where account_id = $1 and cause >= uuid_floor($2) and cause < uuid_floor($3)
  and kind not in ('charged', 'overrun', 'debt') and kind <> 'debt_paid'
group by 1
order by place, item
"""


class SqlStatements:
    """The `Statements` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def month(self, account_id: int, since: datetime, until: datetime) -> MonthFigures:
        async with (
            self._database.session(patience_seconds=PATIENCE_SECONDS) as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            await connection.execute("set local statement_timeout = 0")
            used = await connection.fetchval(USED, account_id)
            if used is None:
                raise NotOnFile(f"There is no account {account_id}.")
            month = _Month(connection, account_id, since, until)
            if await connection.fetchval(IS_CLEANED, since.date()):
                return await month.by_the_ledger()
            return await month.by_the_sums(used)


class _Month:
    """One month of one account, all of it read at one moment."""

    def __init__(self, connection: asyncpg.Connection, account_id: int, since: datetime, until: datetime) -> None:
        self._connection = connection
        self._account_id = account_id
        self._since, self._until = since, until

    async def by_the_sums(self, used: int) -> MonthFigures:
        spent = await self._connection.fetch(SPENT, self._account_id, self._since, self._until)
        before_its_end = used - sum(row["charged_later"] for row in spent)
        before = before_its_end - sum(row["charged"] for row in spent)
        return await self._figures(spent, before=int(before), before_its_end=int(before_its_end))

    async def by_the_ledger(self) -> MonthFigures:
        spent = await self._connection.fetch(SPENT_BY_LEDGER, self._account_id, self._since, self._until)
        before, before_its_end = [
            await self._connection.fetchval(SPENT_BEFORE, self._account_id, instant)
            for instant in (self._since, self._until)
        ]
        return await self._figures(spent, before=int(before), before_its_end=int(before_its_end))

    async def _figures(self, spent: Sequence[asyncpg.Record], *, before: int, before_its_end: int) -> MonthFigures:
        """What calls had cost before the month, and before its end."""
        connection, account_id = self._connection, self._account_id
        others = await connection.fetch(OTHER_LINES, account_id, self._since, self._until)
        return MonthFigures(
            opening=int(await connection.fetchval(GRANTED_LESS_OTHERS, account_id, self._since)) - before,
            lines=_lines(spent, others),
            closing=int(await connection.fetchval(GRANTED_LESS_OTHERS, account_id, self._until)) - before_its_end,
        )


def _lines(spent: Sequence[asyncpg.Record], others: Sequence[asyncpg.Record]) -> list[StatementLine]:
    """What came first; then what went, by what it was for."""
    of_calls = [
        StatementLine(Item.SPENT, row["model_id"], int(row["calls"]), -int(row["charged"]))
        for row in spent
        if row["charged"]
    ]
    other = [StatementLine(Item(row["item"]), "", row["count"], int(row["amount"])) for row in others]
    came = [line for line in other if line.amount > 0]
    return came + sorted((line for line in [*other, *of_calls] if line.amount < 0), key=lambda line: line.item)
