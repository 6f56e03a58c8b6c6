"""The bookkeeper: leads a process's ledger through its lives: register, replay dead workers' journals, beat, close.

Rules of this file
1. No life begins before what this host's dead workers left open is settled, but for what a neighbour is settling.
2. A life that was fenced is over: its calls end, and a new life begins with a new number (a fencing token).
3. What a dead worker left is settled by whoever finds it first, also by one that has lived for long.
4. Room in the journal is asked for after the journals of dead workers are gone: they may be what fills the disk.
"""

import asyncio
import contextlib
import logging
from collections.abc import Generator, Iterable
from pathlib import Path

from tollkeeper.core.errors import ForOperators, StoreUnavailable
from tollkeeper.ports import Settlement
from tollkeeper.steady import RepeatedStep
from tollkeeper.storage.ledger import workers
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.journal_folder import UnsafeFolder
from tollkeeper.storage.ledger.orphan_journals import OrphanJournal, orphaned
from tollkeeper.storage.ledger.orphans import SqlOrphans
from tollkeeper.storage.ledger.sql_ledger import SqlLedger, void
from tollkeeper.storage.postgres.batch import Unforeseen
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.postgres.revision import SchemaWatch
from tollkeeper.storage.postgres.trouble import DATABASE_FAILURES

RETRY_SECONDS = 1.0
SETTLED_AT_ONCE = 256
NOT_BEGUN = "not begun"
# What may stand against settling what another worker left: the database, or its files.
UNSETTLED = (*DATABASE_FAILURES, Unforeseen, OSError)

log = logging.getLogger(__name__)


class LifeNotBegun(ForOperators):
    """Something on this host stands against it; the message says what."""


class Bookkeeper:
    def __init__(
        self,
        database: Database,
        node: str,
        journal_folder: Path,
        *,
        patience_seconds: float,
        serves: bool = True,
        former_folder: Path | None = None,
    ) -> None:
        """`former_folder`: where an earlier version may have left settlements."""
        self._database = database
        self._node = node
        self._journal_folder = journal_folder
        self._former_folder = former_folder
        self._patience_seconds = patience_seconds
        self._serves = serves
        self._schema = SchemaWatch(database)
        self._ledger: SqlLedger | None = None
        self._former: list[SqlLedger] = []
        self._worker_id = 0
        # Why its life has not begun, where there are words for it.
        self._waits_for = ""

    @property
    def begun(self) -> bool:
        return self._ledger is not None

    @property
    def trouble(self) -> str:
        """Why no calls can be booked, in words; empty where they can."""
        if self._ledger is None:
            return self._waits_for or NOT_BEGUN
        return self._ledger.journal_trouble

    @property
    def ready(self) -> bool:
        return not self.trouble

    @property
    def ledger(self) -> SqlLedger:
        """The ledger of this life. Raise StoreUnavailable before it has begun."""
        if self._ledger is None:
            raise StoreUnavailable
        return self._ledger

    async def live(self) -> None:
        """Begin a life, and another after each that is fenced, until cancelled."""
        beginning = RepeatedStep("beginning of a worker's life")
        while True:
            if not await beginning.run(self._begin_in_words):
                await asyncio.sleep(RETRY_SECONDS)
                continue
            tending = asyncio.create_task(self._tend_journals(self.ledger))
            try:
                await workers.beat_until_fenced(self._database, self._worker_id, self.ledger.refused)
            finally:
                tending.cancel()
            log.error("worker %d was taken for dead and fenced; its calls end", self._worker_id)
            # Its calls may still settle: while its journal stays locked, no other worker replays it.
            self._former.append(self.ledger)
            self._ledger = None

    async def close(self) -> None:
        """Book what is waiting and end this life; nothing is only in memory afterwards."""
        for former in self._former:
            await former.close()
        if self._ledger is not None:
            await self._ledger.close()
            # Without the database this life ends as a silent one: fenced, and swept.
            with contextlib.suppress(StoreUnavailable):
                await workers.end(self._database, self._worker_id)

    async def _tend_journals(self, ledger: SqlLedger) -> None:
        """Take calls again as soon as there is room for them. And settle what neighbours leave that end meanwhile:
        those that follow them may have begun before."""
        replaying = RepeatedStep("settling of what others left")
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            if ledger.journal_trouble:
                ledger.reserve_journal()
            await replaying.run(lambda: self._replay(ledger, orphaned(self._journal_folder)))

    async def _begin_in_words(self) -> None:
        try:
            await self._begin()
        except DATABASE_FAILURES as problem:
            found = self._database.trouble(problem)
            self._waits_for = "" if found is None else found.told
            raise
        except ForOperators as problem:
            self._waits_for = str(problem)
            raise
        except OSError as problem:
            self._waits_for = f"The journal in {self._journal_folder} cannot be begun ({problem.strerror or problem})."
            raise LifeNotBegun(self._waits_for) from problem
        self._waits_for = ""

    async def _begin(self) -> None:
        await self._schema.check()
        self._worker_id = await workers.register(self._database, self._node, serves=self._serves)
        async with contextlib.AsyncExitStack() as undo:
            # Others would share the limits with a worker that does not serve.
            undo.push_async_callback(workers.end, self._database, self._worker_id)
            journal = Journal(self._journal_folder, self._worker_id)
            undo.callback(journal.close)
            ledger = SqlLedger(self._database, self._worker_id, journal, patience_seconds=self._patience_seconds)
            await self._replay(ledger, orphaned(self._journal_folder))
            await self._replay(ledger, _orphaned_before(self._former_folder))
            ledger.reserve_journal()
            undo.pop_all()
        self._ledger = ledger

    async def _replay(self, ledger: SqlLedger, journals: Generator[OrphanJournal]) -> None:
        """Settle what dead workers of this host left. Where that breaks off, their journals are free for others."""
        failed = list[Exception]()
        with contextlib.closing(journals):
            for orphan in journals:
                try:
                    if closed := await self._settle_from(orphan, ledger):
                        log.warning("%d calls of worker %d, which is gone, were settled", closed, orphan.worker_id)
                except UNSETTLED as problem:
                    # What one of them has left keeps no other's from being settled.
                    failed.append(problem)
        if failed:
            raise failed[0]

    async def _settle_from(self, orphan: OrphanJournal, ledger: SqlLedger) -> int:
        """How many of its calls were still open: those in its journal, and the rest, which that does not know."""
        from_journal = await _settle_all(ledger, orphan.settlements)
        await workers.end(self._database, orphan.worker_id)
        found = await SqlOrphans(self._database).find_of_worker(orphan.worker_id)
        rest = [void(left) if orphan.never_sent(left) else left for left in found]
        from_the_rest = await _settle_all(ledger, rest)
        for path in orphan.paths:
            path.unlink(missing_ok=True)
        return from_journal + from_the_rest


def _orphaned_before(folder: Path | None) -> Generator[OrphanJournal]:
    """What an earlier version left in its folder. It made the folder itself, so one that is not ours is not from it."""
    try:
        yield from () if folder is None else orphaned(folder)
    except FileNotFoundError:
        return
    except UnsafeFolder as problem:
        log.warning("journals of earlier versions are not read: %s", problem)


async def _settle_all(ledger: SqlLedger, settlements: Iterable[Settlement]) -> int:
    """How many of them were still open. One that the database will not take is left to the sweeper. Raise Unforeseen
    where nobody knows what became of one, when all others are settled."""
    closed, waiting, unforeseen = 0, list(settlements), list[Unforeseen]()
    # In parts: the calls of this process settle between them.
    for begin in range(0, len(waiting), SETTLED_AT_ONCE):
        some = waiting[begin : begin + SETTLED_AT_ONCE]
        settled = await asyncio.gather(*map(ledger.book, some), return_exceptions=True)
        unforeseen += [one for one in settled if isinstance(one, Unforeseen)]
        closed += settled.count(True)
    if unforeseen:
        raise unforeseen[0]
    return closed
