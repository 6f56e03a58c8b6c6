"""Refused calls in PostgreSQL: gateways gather them in memory and write them in batches.

Rules of this file
1. A call waits for nothing here: noting it is an append to a list.
2. Of each account and reason, a hundred in an hour are kept (`note_refused_calls`), and no process sends more. While
   the database is away, a few thousand wait; further ones are lost.
"""

import asyncio
import time
from uuid import UUID

from tollkeeper.ports.refused import RefusedCall
from tollkeeper.steady import RepeatedStep
from tollkeeper.storage.postgres.database import Database

FLUSH_EVERY_SECONDS = 1.0
KEPT_IN_AN_HOUR = 100
HOUR_SECONDS = 3_600.0
WAITING_MOST = 5_000
AT_ONCE_MOST = 1_000
# Of how many accounts and reasons it is counted in an hour.
COUNTED_MOST = 100_000

NOTE = "select note_refused_calls($1::uuid[], $2::bigint[], $3::bigint[], $4::text[])"
FIND = """
select request_id, account_id, key_id, code, at from refused_call
where request_id = $1 and ($2::bigint is null or account_id = $2)
"""


class SqlRefusalBook:
    """What one gateway process refused."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[tuple[UUID, int, int, str]] = []
        self._counted: dict[tuple[int, str], int] = {}
        self._counted_since = time.monotonic()

    def note(self, request_id: UUID, account_id: int, key_id: int, code: str) -> None:
        """Returns at once."""
        whose = (account_id, code)
        before = self._counted.get(whose, 0)
        is_new_of_too_many = not before and len(self._counted) >= COUNTED_MOST
        if before >= KEPT_IN_AN_HOUR or is_new_of_too_many or len(self._waiting) >= WAITING_MOST:
            return
        self._counted[whose] = before + 1
        self._waiting.append((request_id, account_id, key_id, code))

    async def follow(self) -> None:
        """Write to the database again and again, until cancelled."""
        step = RepeatedStep("noting of refused calls")
        while True:
            await asyncio.sleep(FLUSH_EVERY_SECONDS)
            if time.monotonic() - self._counted_since >= HOUR_SECONDS:
                self._counted, self._counted_since = {}, time.monotonic()
            if self._waiting:
                await step.run(self.flush)

    async def flush(self) -> None:
        while self._waiting:
            taken = self._waiting[:AT_ONCE_MOST]
            await self._database.row(NOTE, *map(list, zip(*taken, strict=True)))
            del self._waiting[: len(taken)]


class SqlRefusedCalls:
    """The `RefusedCalls` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, request_id: UUID, *, account_id: int | None) -> RefusedCall | None:
        row = await self._database.row(FIND, request_id, account_id)
        return None if row is None else RefusedCall(**row)
