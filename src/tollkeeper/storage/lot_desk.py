"""Lots at support's desk, and statements by month, in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime

from tollkeeper.ports import NotOnFile
from tollkeeper.ports.lots import Extended, Item, LotRecord, MonthFigures, StatementLine
from tollkeeper.storage.database import Database

LOTS = """
select id, account_id, key_id, source, granted, remaining, created_at, expires_at, closed_at, closed_as
from lot where account_id = $1 order by closed_at is not null, expires_at, id
"""
FIND = "select account_id, expires_at, closed_at from lot where id = $1"

# What there was at an instant: all that was granted less all that went. Debt counts as what is missing, and paying it
# takes from a lot what was missing already. A call belongs to the month in which it began, as its id says.
BALANCE = """
select (select coalesce(sum(granted), 0) from lot where account_id = $1 and created_at < $2)
     - (select coalesce(sum(amount), 0) from entry
        where account_id = $1 and cause < uuid_floor($2) and kind <> 'debt_paid')
"""

# The ledger is never cleaned, the usage log is, and only the log knows models: what calls cost that are no longer in it
# is one line.
LINES = """
with spent as (
    select e.cause, e.amount, coalesce(p.model_id, 'calls no longer in the log') as detail
    from entry e left join usage u on u.request_id = e.cause left join price p on p.id = u.price_id
    where e.account_id = $1 and e.cause >= uuid_floor($2) and e.cause < uuid_floor($3)
      and e.kind in ('charged', 'overrun', 'debt'))
select case source when 'redemption' then 'top-up' when 'operator' then 'top-up' when 'gift' then 'gift'
                   when 'faucet' then 'faucet' else 'other credit' end as item,
       '' as detail, count(*) as count, sum(granted) as amount, 0 as place
from lot where account_id = $1 and created_at >= $2 and created_at < $3 group by 1
union all
select 'spent', detail, count(distinct cause), -sum(amount), 1 from spent group by 2
union all
select case kind when 'expired' then 'expired' else 'revoked' end, '', count(distinct cause), -sum(amount), 1
from entry
where account_id = $1 and cause >= uuid_floor($2) and cause < uuid_floor($3)
  and kind in ('expired', 'revoked', 'clawed')
group by 1
order by place, item, detail
"""
EXTEND = "select extend_lot_on_record($1, $2, $3, $4)"
PATIENCE_SECONDS = 600.0


class SqlLotDesk:
    """The `LotDesk` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_account(self, account_id: int) -> Sequence[LotRecord]:
        rows = await self._database.rows(LOTS, account_id)
        if not rows and await self._database.row("select from account where id = $1", account_id) is None:
            raise NotOnFile(f"There is no account {account_id}.")
        return [LotRecord(**row) for row in rows]

    async def extend(self, lot_id: int, until: datetime, reason: str, *, actor: str) -> Extended:
        async with self._database.transaction() as connection:
            before = await connection.fetchrow(FIND, lot_id)
            if before is None:
                return Extended.UNKNOWN
            if before["closed_at"] is not None:
                return Extended.CLOSED
            in_future = await connection.fetchval("select $1 > ledger_now()", until)
            if not in_future or not await connection.fetchval(EXTEND, lot_id, until, reason, actor):
                # It was closed, or extended further, in this very moment.
                return Extended.NOT_LATER
        return Extended.EXTENDED


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
            if not await connection.fetchval("select true from account where id = $1", account_id):
                raise NotOnFile(f"There is no account {account_id}.")
            opening = await connection.fetchval(BALANCE, account_id, since)
            rows = await connection.fetch(LINES, account_id, since, until)
            closing = await connection.fetchval(BALANCE, account_id, until)
        lines = [StatementLine(Item(row["item"]), row["detail"], row["count"], int(row["amount"])) for row in rows]
        return MonthFigures(opening=int(opening), lines=lines, closing=int(closing))
