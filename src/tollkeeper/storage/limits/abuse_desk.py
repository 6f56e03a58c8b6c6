"""The desk for bans and restrictions in PostgreSQL: tells what was counted, and lifts them, on the record."""

from collections.abc import Sequence
from datetime import datetime

import asyncpg
import msgspec

from tollkeeper.ports import BanRecord, NotOnFile, RestrictionRecord
from tollkeeper.ports.limits import LISTED_MOST, REASON_CHARACTERS_MOST
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database

BAN_FIELDS = "select id, ip, began_at, until, why, counted, account_id, lifted_at, lifted_by, lift_reason from ban"
RESTRICTION_FIELDS = """
select id, account_id, began_at, until, peak_seconds, within_seconds, ip, lifted_at, lifted_by, lift_reason,
       began_by, reason
from restriction
"""
IN_FORCE = "until > ledger_now() and lifted_at is null"
# Those in force are found by their end before they are sorted: of all that ever were, they are few.
PAGE = """
with chosen as {how} ({fields} where {which})
select * from chosen where id < $1 order by id desc limit $2
"""
LAST_ID = 2**63 - 1
PEAK_MINUTES = """
select minute, ip, milliseconds from peak_minute where account_id = $1 and minute >= $2 order by minute, ip
"""
BAN = "select ban_ip($1, $2, 'operator', $3::text::jsonb, null, $4)"
LIFT_BAN = """
update ban set lifted_at = ledger_now(), lifted_by = $2, lift_reason = $3
where ip = $1 and until > ledger_now() and lifted_at is null returning id
"""
RESTRICT = "select restrict_by_staff($1, $2, $3, $4)"
LIFT_RESTRICTION = """
update restriction set lifted_at = ledger_now(), lifted_by = $2, lift_reason = $3
where account_id = $1 and until > ledger_now() and lifted_at is null returning id
"""
FREE_ACCOUNT = "update account set restricted_until = null where id = $1"
# Locked first, in the same order as where accounts are restricted.
ACCOUNT = "select true from account where id = $1 for no key update"


class SqlAbuseDesk:
    """The `AbuseDesk` port."""

    def __init__(self, database: Database, notifier: ChangeNotifier) -> None:
        self._database = database
        self._notifier = notifier

    async def bans(
        self,
        *,
        ip: str | None = None,
        in_force_only: bool = True,
        before_id: int | None = None,
        limit: int = LISTED_MOST,
    ) -> Sequence[BanRecord]:
        page, values = _page(BAN_FIELDS, "ip", ip, in_force_only=in_force_only)
        return [_ban(row) for row in await self._database.rows(page, before_id or LAST_ID, limit, *values)]

    async def ban_record(self, ban_id: int) -> BanRecord:
        row = await self._database.row(f"{BAN_FIELDS} where id = $1", ban_id)
        if row is None:
            raise NotOnFile(f"There is no ban {ban_id}.")
        return _ban(row)

    async def ban(self, ip: str, seconds: int, reason: str, *, actor: str) -> datetime | None:
        _check_reason(reason)
        counted = msgspec.json.encode({"reason": reason}).decode()
        row = await self._database.row(BAN, ip, seconds, counted, actor)
        await self._notifier.send()
        until: datetime | None = row[0]
        return until

    async def lift_ban(self, ip: str, reason: str, *, actor: str) -> bool:
        _check_reason(reason)
        async with self._database.transaction() as connection:
            ban_id = await connection.fetchval(LIFT_BAN, ip, actor, reason)
            if ban_id is None:
                return False
            await audit(connection, actor, "ip.lift_ban", f"ip:{ip}", {"ban": ban_id, "reason": reason})
        await self._notifier.send()
        return True

    async def restrictions(
        self,
        *,
        account_id: int | None = None,
        in_force_only: bool = True,
        before_id: int | None = None,
        limit: int = LISTED_MOST,
    ) -> Sequence[RestrictionRecord]:
        if account_id is not None and await self._database.row("select from account where id = $1", account_id) is None:
            raise NotOnFile(f"There is no account {account_id}.")
        page, values = _page(RESTRICTION_FIELDS, "account_id", account_id, in_force_only=in_force_only)
        rows = await self._database.rows(page, before_id or LAST_ID, limit, *values)
        return [RestrictionRecord(**row) for row in rows]

    async def restrict(self, account_id: int, seconds: int, reason: str, *, actor: str) -> datetime | None:
        _check_reason(reason)
        if await self._database.row("select from account where id = $1", account_id) is None:
            raise NotOnFile(f"There is no account {account_id}.")
        row = await self._database.row(RESTRICT, account_id, seconds, reason, actor)
        await self._notifier.send()
        until: datetime | None = row[0]
        return until

    async def lift_restriction(self, account_id: int, reason: str, *, actor: str) -> bool:
        _check_reason(reason)
        async with self._database.transaction() as connection:
            if not await connection.fetchval(ACCOUNT, account_id):
                raise NotOnFile(f"There is no account {account_id}.")
            restriction_id = await connection.fetchval(LIFT_RESTRICTION, account_id, actor, reason)
            if restriction_id is None:
                return False
            await connection.execute(FREE_ACCOUNT, account_id)
            detail = {"restriction": restriction_id, "reason": reason}
            await audit(connection, actor, "account.lift_restriction", f"account:{account_id}", detail)
        await self._notifier.send()
        return True

    async def peak_minutes(self, account_id: int, *, since: datetime) -> Sequence[tuple[datetime, str, int]]:
        rows = await self._database.rows(PEAK_MINUTES, account_id, since)
        return [(row["minute"], row["ip"], row["milliseconds"]) for row in rows]


def _page(fields: str, column: str, whose: object, *, in_force_only: bool) -> tuple[str, tuple[object, ...]]:
    """The SQL of a page of one client's or account's, or of all; and its values beside the first two."""
    conditions = [] if whose is None else [f"{column} = $3"]
    conditions += [IN_FORCE] if in_force_only else []
    how = "materialized" if conditions else "not materialized"
    sql = PAGE.format(how=how, fields=fields, which=" and ".join(conditions) or "true")
    return sql, () if whose is None else (whose,)


def _check_reason(reason: str) -> None:
    if not 1 <= len(reason) <= REASON_CHARACTERS_MOST:
        raise ValueError(f"A reason has 1 to {REASON_CHARACTERS_MOST} characters.")


def _ban(row: asyncpg.Record) -> BanRecord:
    return BanRecord(**{**row, "counted": msgspec.json.decode(row["counted"])})
