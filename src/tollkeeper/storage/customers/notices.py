"""Notices to customers in PostgreSQL: each a row that says so, and a mail in the outbox, put there by one function."""

from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports.customers.notices import NoticeStep
from tollkeeper.storage.postgres.database import Database

AT_ONCE_MOST = 1_000


class SqlAnnouncements:
    """The `Announcements` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def step(self) -> int | None:
        row = await self._database.row("select announce_prices($1)", AT_ONCE_MOST)
        told: int | None = row[0]
        return told


class SqlNotices:
    """The `Notices` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def expiring(self, days: int) -> NoticeStep:
        row = await self._database.row("select * from notice_expiring($1, $2)", days, AT_ONCE_MOST)
        return NoticeStep(row["told"], row["more"])

    async def day_spends(self) -> int:
        row = await self._database.row("select notice_day_spend()")
        told: int = row[0]
        return told

    async def low_balances(self, threshold: Quota, *, late: bool) -> NoticeStep:
        row = await self._database.row("select * from notice_low_balances($1, $2)", late, threshold)
        return NoticeStep(row["told"], row["more"])
