"""Reading as a customer, in PostgreSQL: its beginning and its end are in the audit trail."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import asyncpg

from tollkeeper.ports import NotOnFile
from tollkeeper.ports.readings import ReadAs, ReadingRecord
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.database import Database

LASTS = timedelta(minutes=30)

OPEN = """
select r.id as reading_id, r.session_id, r.account_id, a.name as account_name, r.reason, r.until,
       coalesce(l.totp_confirmed_at is not null, false) as has_second_factor,
       coalesce(l.role <> 'customer', false) as is_staff, r.until <= ledger_now() as is_over
from read_as r join account a on a.id = r.account_id left join login l on l.account_id = r.account_id
where r.session_id = $1 and r.ended_at is null
"""
# Two forms at once would both find nothing open: the session's row lets one wait for the other.
LOCK = "select from session where id = $1 for no key update"
BEGIN = """
insert into read_as (session_id, account_id, reason, until)
select $1, id, $3, ledger_now() + $4::interval from account where id = $2
returning id, until
"""
PAGE = """
select r.id as reading, s.account_id as reader, r.account_id as account, r.reason, r.began_at, r.until, r.ended_at
from read_as r join session s on s.id = r.session_id
where r.id < coalesce($1, 9223372036854775807) and ($2::bigint is null or r.account_id = $2)
order by r.id desc limit $3
"""
WHOSE = "select account_id from read_as where id = $1"
END = "update read_as set ended_at = ledger_now() where id = $1 and ended_at is null returning id"


class SqlReadAsDesk:
    """The `ReadAsDesk` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, account_id: int | None, *, before_id: int | None, limit: int) -> Sequence[ReadingRecord]:
        rows = await self._database.rows(PAGE, before_id, account_id, limit)
        return [ReadingRecord(**dict(row)) for row in rows]

    async def stop(self, reading_id: int, *, actor: str) -> bool:
        async with self._database.transaction() as connection:
            account_id = await connection.fetchval(WHOSE, reading_id)
            if account_id is None:
                raise NotOnFile(f"There is no reading {reading_id}.")
            return await _end(connection, reading_id, account_id, "staff ended it", actor=actor)

    async def begin(self, session_id: int, account_id: int, reason: str, *, actor: str) -> datetime:
        async with self._database.transaction() as connection:
            await connection.execute(LOCK, session_id)
            row = await connection.fetchrow(OPEN, session_id)
            if row is not None:
                await _end(connection, row["reading_id"], row["account_id"], "another was begun", actor=actor)
            begun = await connection.fetchrow(BEGIN, session_id, account_id, reason, LASTS)
            if begun is None:
                raise NotOnFile(f"There is no account {account_id}.")
            until: datetime = begun["until"]
            detail = {"reading": begun["id"], "session": session_id, "until": until, "reason": reason}
            await audit(connection, actor, "account.read_as", f"account:{account_id}", detail)
        return until

    async def of(self, session_id: int) -> ReadAs | None:
        row = await self._database.row(OPEN, session_id)
        return None if row is None else ReadAs(**row)

    async def end(self, reading: ReadAs, how: str, *, actor: str) -> bool:
        async with self._database.transaction() as connection:
            return await _end(connection, reading.reading_id, reading.account_id, how, actor=actor)


async def _end(connection: asyncpg.Connection, reading_id: int, account_id: int, how: str, *, actor: str) -> bool:
    ended = await connection.fetchval(END, reading_id) is not None
    if ended:
        detail = {"reading": reading_id, "how": how}
        await audit(connection, actor, "account.read_as_end", f"account:{account_id}", detail)
    return ended
