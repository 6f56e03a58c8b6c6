"""The usage log added up by day, by provider account, model and hour, and by price, in PostgreSQL."""

from collections.abc import Sequence
from datetime import date

from tollkeeper.storage.postgres.database import Database

# Of one transaction. It reads the log and locks none of it.
ROWS_AT_ONCE = 20_000
PATIENCE_SECONDS = 600.0


class SqlRollups:
    """The `Rollups` port."""

    def __init__(self, database: Database, *, rows_at_once: int = ROWS_AT_ONCE) -> None:
        self._database = database
        self._rows_at_once = rows_at_once

    async def add_up(self) -> bool:
        return bool(await self._patiently("select add_up_usage($1)", self._rows_at_once))

    async def add_up_providers(self) -> bool:
        return bool(await self._patiently("select add_up_providers($1)", self._rows_at_once))

    async def add_up_prices(self) -> bool:
        return bool(await self._patiently("select add_up_prices($1)", self._rows_at_once))

    async def days_to_recount(self) -> Sequence[date]:
        return [row[0] for row in await self._database.rows("select * from usage_days_to_recount()")]

    async def recount(self, day: date) -> None:
        account: int | None = 0
        while account is not None:
            account = await self._patiently("select recount_usage_day($1, $2, $3)", day, account, self._rows_at_once)

    async def _patiently(self, sql: str, *values: object) -> int | None:
        async with (
            self._database.session(patience_seconds=PATIENCE_SECONDS) as connection,
            connection.transaction(),
        ):
            # It is counted by whole accounts, and one alone may have millions of calls in a day.
            await connection.execute("set local statement_timeout = 0")
            found: int | None = await connection.fetchval(sql, *values)
            return found
