"""Workers that die: each with a wire of its own to the database, and a journal on a host that may be lost with it."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import asyncpg

from tests.storage.ledger.wire import Break, Wire
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.jobs.close_stale_holds import Sweeper
from tollkeeper.storage.ledger.bookkeeper import Bookkeeper
from tollkeeper.storage.ledger.orphans import JOURNAL_SECONDS, SqlOrphans
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.postgres.database import Database, DatabaseRole

Result = TypeVar("Result")

PATIENCE_SECONDS = 30.0


class Died(Exception):
    """The worker was killed before its act came back."""


class Life:
    """One process, as far as its ledger is concerned. Nothing else may run in its event loop but its wire."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self.wire = Wire(database_url)
        self._folder = folder
        self._database: Database | None = None
        self._bookkeeper: Bookkeeper | None = None

    @property
    def ledger(self) -> SqlLedger:
        assert self._bookkeeper is not None
        return self._bookkeeper.ledger

    async def begin(self, *, sweeps: bool = False) -> None:
        """Settle what dead workers of this host left; those of lost hosts as well, where it `sweeps`."""
        await self.wire.open()
        self._database = Database(self.wire.url, DatabaseRole.WORKER, connections=2, patience_seconds=PATIENCE_SECONDS)
        await self._database.open()
        self._bookkeeper = Bookkeeper(self._database, "here", self._folder, patience_seconds=PATIENCE_SECONDS)
        await self.until_broken(self._recover(self._bookkeeper, self._database, sweeps=sweeps))

    async def until_broken(self, act: Awaitable[Result]) -> Result:
        """What comes of an act. Raise Died where its wire is broken for good before anything does."""
        acting, broken = asyncio.ensure_future(act), asyncio.ensure_future(self.wire.broke.wait())
        await asyncio.wait({acting, broken}, return_when=asyncio.FIRST_COMPLETED)
        broken.cancel()
        if self.wire.has_ended:
            await self.die()
            await asyncio.gather(acting, return_exceptions=True)
            raise Died
        return await acting

    async def die(self) -> None:
        """As by kill -9: the kernel closes its files and connections, and nobody says good-bye."""
        self.wire.end()
        if self._bookkeeper is not None and self._bookkeeper.begun:
            for segment in self.ledger._journal._segments:
                segment.leave()
        while left := asyncio.all_tasks() - self.wire.tasks - {asyncio.current_task()}:
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        await self._let_go()

    async def end(self) -> None:
        """In order."""
        assert self._bookkeeper is not None
        await self._bookkeeper.close()
        await self._let_go()

    async def _let_go(self) -> None:
        await self.wire.close()
        if self._database is not None:
            await self._database.close()

    async def _recover(self, bookkeeper: Bookkeeper, database: Database, *, sweeps: bool) -> None:
        await bookkeeper._begin()
        if sweeps:
            await Sweeper(SqlOrphans(database), lambda: bookkeeper.ledger, asyncio.get_running_loop().time).sweep()


class Host:
    """One worker at a time, and the folder of its journal."""

    def __init__(self, database_url: str, owner: asyncpg.Connection, folder: Path) -> None:
        self._database_url = database_url
        self._owner = owner
        self._folder = folder
        self._hosts = 0
        self.life = Life(database_url, folder)

    @property
    def ledger(self) -> SqlLedger:
        return self.life.ledger

    async def recover(self, broken: Break | None, *, statements_before: int, is_lost: bool) -> None:
        """Another worker begins where one died: on the same host, or with the whole host lost, on another. Where it is
        `broken` at some statement of that, it dies as well, and a third one recovers both."""
        if is_lost:
            self._hosts += 1
            self._folder = self._folder.with_name(f"host-{self._hosts}")
            await self._owner.execute(
                "update worker set fenced_at = now() - make_interval(secs => $1) where fenced_at is null",
                JOURNAL_SECONDS + 1.0,
            )
        self.life = Life(self._database_url, self._folder)
        self.life.wire.arm(broken, statements_before=statements_before, is_last=True)
        try:
            await self.life.begin(sweeps=is_lost)
        except (Died, StoreUnavailable):
            await self.life.die()
            await self.recover(None, statements_before=0, is_lost=is_lost)
        # A recovery may have fewer statements than that.
        self.life.wire.arm(None)
