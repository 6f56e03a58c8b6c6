"""Disputed charges in PostgreSQL. Quota moves in stored functions alone, which lock the account's books."""

from collections.abc import Sequence
from uuid import UUID

import asyncpg

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.usage.disputes import (
    CREDIT_MONTHS,
    CREDITED_BY_RULE,
    DISPUTED_WITHIN,
    DISPUTES_A_DAY,
    DisputeKind,
    DisputeState,
)
from tollkeeper.ports.disputes import DisputeRecord, DisputeVerdict, NewDispute
from tollkeeper.storage.postgres.database import Database

OPEN = "select verdict from open_dispute($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
DECIDE = "select verdict from decide_dispute($1, $2, $3, $4, $5, $6)"
FIELDS = """
select id, request_id, account_id, kind, note, charged, opened_at, state, decided_at, decided_by, reason, credited,
       lot_id
from dispute
"""
OF_CALL = FIELDS + "where request_id = $1 and ($2::bigint is null or account_id = $2)"
PAGE_OPEN = FIELDS + "where state = 'open' and id < $1 order by id desc limit $2"
PAGE_ALL = FIELDS + "where id < $1 order by id desc limit $2"
PAGE_OF = FIELDS + "where account_id = $3 and id < $1 and ($4 or state = 'open') order by id desc limit $2"
LAST_ID = 2**63 - 1


class SqlDisputes:
    """The `Disputes` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, dispute: NewDispute, *, actor: str) -> DisputeVerdict:
        what = (dispute.request_id, dispute.account_id, dispute.kind.value, dispute.note, dispute.at_once)
        terms = (CREDITED_BY_RULE, DISPUTED_WITHIN, DISPUTES_A_DAY, CREDIT_MONTHS)
        row = await self._database.row(OPEN, *what, *terms, actor)
        return DisputeVerdict(row["verdict"])

    async def of_call(self, request_id: UUID, *, account_id: int | None) -> DisputeRecord | None:
        row = await self._database.row(OF_CALL, request_id, account_id)
        return None if row is None else _dispute(row)

    async def page(
        self, *, account_id: int | None, open_only: bool, before_id: int | None, limit: int
    ) -> Sequence[DisputeRecord]:
        place = (before_id or LAST_ID, limit)
        if account_id is not None:
            rows = await self._database.rows(PAGE_OF, *place, account_id, not open_only)
        else:
            rows = await self._database.rows(PAGE_OPEN if open_only else PAGE_ALL, *place)
        return [_dispute(row) for row in rows]

    async def credit(self, request_id: UUID, amount: Quota, reason: str, *, actor: str) -> DisputeVerdict:
        row = await self._database.row(DECIDE, request_id, "credited", amount, CREDIT_MONTHS, reason, actor)
        return DisputeVerdict(row["verdict"])

    async def decline(self, request_id: UUID, words: str, *, actor: str) -> DisputeVerdict:
        row = await self._database.row(DECIDE, request_id, "declined", None, None, words, actor)
        return DisputeVerdict(row["verdict"])


def _dispute(row: asyncpg.Record) -> DisputeRecord:
    return DisputeRecord(**{**row, "kind": DisputeKind(row["kind"]), "state": DisputeState(row["state"])})
