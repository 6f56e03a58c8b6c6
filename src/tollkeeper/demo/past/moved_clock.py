"""The ledger's clock, moved by hand: everything but heartbeats goes by it. For databases that nobody else uses.

The clock of the machine is left alone. Between two moves time runs as it does for everybody.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import asyncpg

from tollkeeper.storage.postgres.connecting import connect
from tollkeeper.storage.postgres.schema import FUNCTIONS

# While this stands, the time is that of the machine and a shift.
MOVABLE = """
create table tollkeeper.moved_clock (shift interval not null);
insert into tollkeeper.moved_clock values ('0');
grant select on tollkeeper.moved_clock to public;
create or replace function tollkeeper.ledger_now() returns timestamptz
language sql stable parallel safe
return now() + (select shift from tollkeeper.moved_clock);
"""


class StoryClock:
    """A clock for writing a past down in its order."""

    def __init__(self, owner: asyncpg.Connection) -> None:
        self.owner = owner
        self._told = datetime.min.replace(tzinfo=UTC)

    async def go_to(self, moment: datetime) -> datetime:
        """Never back: what was written after a moment would stand before it. Where it is now."""
        self.note(moment)
        await self.owner.execute("update tollkeeper.moved_clock set shift = $1 - clock_timestamp()", self._told)
        return self._told

    def note(self, moment: datetime) -> None:
        """It was moved by somebody else."""
        self._told = max(moment, self._told)


@asynccontextmanager
async def story_clock(database_url: str) -> AsyncIterator[StoryClock]:
    """As long as this is open, the ledger's time is what the clock was set to; afterwards it is the real one again."""
    owner = await connect(database_url, server_settings={"search_path": "tollkeeper", "jit": "off"})
    try:
        # The functions are this role's, so that nobody else has to be their owner.
        await owner.execute("set role tollkeeper_migrations")
        await owner.execute(MOVABLE)
        try:
            yield StoryClock(owner)
        finally:
            await owner.execute((FUNCTIONS / "ledger_now.sql").read_text())
            await owner.execute("drop table tollkeeper.moved_clock")
    finally:
        await owner.close()
