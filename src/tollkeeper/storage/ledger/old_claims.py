"""Clear away the keys of calls that were made more than a day ago."""

from datetime import timedelta

from tollkeeper.storage.postgres.database import Database

# They count for a day; an hour more, for those who still look.
KEPT = timedelta(hours=25)
AT_ONCE_MOST = 2_000

# Asked of the row as it is when it goes, too: another call may have taken the key meanwhile.
FORGET = """
with gone as (
    delete from idempotency
    where (account_id, digest) in (
        select account_id, digest from idempotency where at < ledger_now() - $1::interval limit $2)
      and at < ledger_now() - $1::interval
    returning 1)
select count(*) as rows from gone
"""


async def forget_old_claims(database: Database, *, at_once_most: int = AT_ONCE_MOST) -> int:
    """How many there were."""
    total = 0
    while True:
        gone: int = (await database.row(FORGET, KEPT, at_once_most))["rows"]
        total += gone
        if gone < at_once_most:
            return total
