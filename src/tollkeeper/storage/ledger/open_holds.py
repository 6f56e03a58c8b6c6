"""The open holds of all nodes, for those who watch them."""

import msgspec

from tollkeeper.storage.postgres.database import Database

# Along the index of open holds, which are few.
OPEN = """
select count(*)::int as holds,
       coalesce(extract(epoch from ledger_now() - min(created_at)), 0)::float8 as oldest_seconds,
       count(*) filter (where deadline_at + interval '60 s' < ledger_now())::int as overdue
from hold where closed_at is null
"""


class OpenHolds(msgspec.Struct, frozen=True, kw_only=True):
    holds: int
    oldest_seconds: float
    # A minute past their deadline.
    overdue: int


async def open_holds(database: Database) -> OpenHolds:
    """Raise StoreUnavailable."""
    return OpenHolds(**await database.row(OPEN))
