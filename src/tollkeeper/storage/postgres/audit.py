"""The audit log: actor, act and subject of every change, in a hash chain that shows tampering."""

from collections.abc import Mapping, Sequence

import asyncpg
import msgspec

from tollkeeper.ports.audit import AuditQuery, AuditRow
from tollkeeper.storage.postgres.database import Database

# What is not asked for is not looked at: a plan for any question could use no index.
PAGE = """
select id, at, actor, action, subject, detail::text as detail, encode(hash, 'hex') as hash from audit
where id < coalesce($1, 9223372036854775807) and {actor} and {action} and {subject}
order by id desc limit $5
"""
ASKED = {"actor": "actor = $2", "action": "starts_with(action, $3)", "subject": "subject = $4"}
OPEN = {"actor": "$2 = ''", "action": "$3 = ''", "subject": "$4 = ''"}
# Rows that were looked at last time are looked at again: nobody can say which of them was changed since.
FIRST_BREAK = """
select id
from (select a.*, audit_hash(coalesce(lag(hash) over w, ''), a) as expected, lag(id) over w as before
      from audit a window w as (order by id)) chain
where hash <> expected or id <> coalesce(before, 0) + 1
order by id limit 1
"""
CHAIN_SECONDS = 60


async def audit(
    connection: asyncpg.Connection, actor: str, action: str, subject: str, detail: Mapping[str, object]
) -> None:
    """Put one act on the record, in the transaction that does it. (What moves money is put there by the database.)"""
    as_json = msgspec.json.encode(detail).decode()
    await connection.execute("select put_on_record($1, $2, $3, $4::text::jsonb)", actor, action, subject, as_json)


class SqlAuditTrail:
    """The `AuditTrail` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, query: AuditQuery, *, before_id: int | None, limit: int) -> Sequence[AuditRow]:
        sql = PAGE.format_map({name: (ASKED if getattr(query, name) else OPEN)[name] for name in ASKED})
        rows = await self._database.rows(sql, before_id, query.actor, query.action, query.subject, limit)
        return [AuditRow(**dict(row) | {"detail": msgspec.json.decode(row["detail"])}) for row in rows]

    async def first_break(self) -> int | None:
        async with (
            self._database.session(patience_seconds=CHAIN_SECONDS) as connection,
            connection.transaction(readonly=True),
        ):
            # A long trail takes longer than the server would let a usual statement take.
            await connection.execute(f"set local statement_timeout = '{CHAIN_SECONDS}s'")
            found: int | None = await connection.fetchval(FIRST_BREAK)
            return found
