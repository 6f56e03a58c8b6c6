"""Resets of second factors and passkeys in PostgreSQL: the verdict and the dropping are one transaction."""

from collections.abc import Sequence

import asyncpg

from tollkeeper.ports import NotOnFile
from tollkeeper.ports.factor_resets import FactorKind, ResetOutcome, ResetRecord, ResetVerdict
from tollkeeper.storage.people.passkeys import remove_passkeys
from tollkeeper.storage.people.second_factors import turn_factor_off
from tollkeeper.storage.postgres.database import Database

ASK = "select * from ask_reset($1, $2, $3, $4)"
DECIDE = "select verdict from decide_reset($1, $2, $3, $4)"
FIELDS = """
select id, account_id, what, reason, asked_at, asked_by, expires_at, outcome, decided_at, decided_by, decide_reason
from factor_reset
"""
BY_ID = FIELDS + "where id = $1"
PAGE_WAITING = (
    FIELDS
    + """
where outcome is null and expires_at > ledger_now() and id < $1 and ($3::bigint is null or account_id = $3)
order by id desc limit $2
"""
)
PAGE_ALL = FIELDS + "where id < $1 order by id desc limit $2"
PAGE_OF = FIELDS + "where account_id = $3 and id < $1 order by id desc limit $2"
LAST_ID = 2**63 - 1


class SqlFactorResets:
    """The `FactorResets` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(
        self, account_id: int, what: FactorKind, reason: str, *, actor: str
    ) -> tuple[ResetVerdict, int | None]:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(ASK, account_id, what.value, reason, actor)
            verdict = ResetVerdict(row["verdict"])
            if verdict is ResetVerdict.DONE:
                await _drop(connection, account_id, what, actor)
        return verdict, row["reset_id"]

    async def confirm(self, reset_id: int, reason: str, *, actor: str) -> ResetVerdict:
        async with self._database.transaction() as connection:
            verdict = ResetVerdict(await connection.fetchval(DECIDE, reset_id, "done", reason, actor))
            if verdict is ResetVerdict.DONE:
                asked = _record(await connection.fetchrow(BY_ID, reset_id))
                await _drop(connection, asked.account_id, asked.what, actor)
        return verdict

    async def refuse(self, reset_id: int, reason: str, *, actor: str) -> ResetVerdict:
        row = await self._database.row(DECIDE, reset_id, "refused", reason, actor)
        return ResetVerdict(row["verdict"])

    async def record(self, reset_id: int) -> ResetRecord:
        row = await self._database.row(BY_ID, reset_id)
        if row is None:
            raise NotOnFile(f"There is no reset {reset_id}.")
        return _record(row)

    async def page(
        self, *, account_id: int | None, waiting_only: bool, before_id: int | None, limit: int
    ) -> Sequence[ResetRecord]:
        place = (before_id or LAST_ID, limit)
        if waiting_only:
            rows = await self._database.rows(PAGE_WAITING, *place, account_id)
        elif account_id is not None:
            rows = await self._database.rows(PAGE_OF, *place, account_id)
        else:
            rows = await self._database.rows(PAGE_ALL, *place)
        return [_record(row) for row in rows]


async def _drop(connection: asyncpg.Connection, account_id: int, what: FactorKind, actor: str) -> None:
    if what is FactorKind.SECOND_FACTOR:
        await turn_factor_off(connection, account_id, keep_session_id=None, actor=actor)
    else:
        await remove_passkeys(connection, account_id, actor=actor)


def _record(row: asyncpg.Record) -> ResetRecord:
    outcome = None if row["outcome"] is None else ResetOutcome(row["outcome"])
    return ResetRecord(**{**row, "what": FactorKind(row["what"]), "outcome": outcome})
