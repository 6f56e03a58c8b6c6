"""Requests of staff that are done once, in PostgreSQL.

Rules of this file
1. Of many with the same key at the same time, one has the claim; the others see its answer when it is there.
2. A claim ends after a minute: whoever had it may have been killed. The next one does it again, under the same name in
   the books (the source id of a credit, for example), which count it once.
"""

from tollkeeper.ports.operators import RequestClaim
from tollkeeper.storage.postgres.database import Database

CLAIM = """
insert into operator_request as r (asker, key, digest, claimed_until)
values ($1, $2, $3, ledger_now() + interval '1 minute')
on conflict (asker, key) do update set claimed_until = excluded.claimed_until
where r.status is null and r.claimed_until <= ledger_now() and r.digest = excluded.digest
returning digest, status, answer
"""
FOUND = "select digest, status, answer from operator_request where asker = $1 and key = $2"
ANSWERED = "update operator_request set status = $3, answer = $4 where asker = $1 and key = $2 and status is null"
RELEASE = """
update operator_request set claimed_until = ledger_now() where asker = $1 and key = $2 and status is null
"""


class SqlRequestBook:
    """The `RequestBook` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, asker: str, key: str, digest: bytes) -> RequestClaim:
        row = await self._database.row(CLAIM, asker, key, digest)
        is_ours = row is not None
        row = row or await self._database.row(FOUND, asker, key)
        return RequestClaim(is_ours=is_ours, digest=row["digest"], status=row["status"], answer=row["answer"] or b"")

    async def answered(self, asker: str, key: str, status: int, answer: bytes) -> None:
        await self._database.row(ANSWERED, asker, key, status, answer)

    async def release(self, asker: str, key: str) -> None:
        await self._database.row(RELEASE, asker, key)
