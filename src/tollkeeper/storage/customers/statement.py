"""An account's statement: every movement of its quota, in order, with the balance after it."""

from tollkeeper.ports import NotOnFile
from tollkeeper.ports.books import Movement
from tollkeeper.storage.postgres.database import Database

MOVEMENTS = """
select at, what, detail, amount, sum(amount) over (order by at, place, detail) as balance
from (select l.created_at as at, 0 as place, 'credit' as what,
             format('lot %s, %s, expires %s', l.id, l.source, to_char(l.expires_at, 'YYYY-MM-DD')) as detail,
             l.granted as amount
      from lot l where l.account_id = $1
      union all
      select e.at, 1, e.kind,
             case when e.kind in ('charged', 'overrun', 'debt') then 'call ' || e.cause
                  when e.lot_id = 0 then 'spent before it was revoked'
                  else 'lot ' || string_agg(e.lot_id::text, ', ') end,
             -sum(e.amount) filter (where e.kind <> 'debt_paid')
      from entry e where e.account_id = $1 group by e.at, e.kind, e.cause, e.lot_id = 0) movements
where amount is not null
order by at, place, detail
"""


PATIENCE_SECONDS = 600.0


async def statement(database: Database, account_id: int) -> list[Movement]:
    """What came in and what went out. Open holds are not movements: they are settled first."""
    async with database.session(patience_seconds=PATIENCE_SECONDS) as connection, connection.transaction():
        await connection.execute("set local statement_timeout = 0")
        if not await connection.fetchval("select true from account where id = $1", account_id):
            raise NotOnFile(f"There is no account {account_id}.")
        rows = await connection.fetch(MOVEMENTS, account_id)
    return [Movement(row["at"], row["what"], row["detail"], int(row["amount"]), int(row["balance"])) for row in rows]
