"""The ledger in PostgreSQL: holds and settles in micro-batches, with a journal beside them.

Rules of this file
1. A hold is committed before this returns. A caller who gave up waiting for one gets it voided.
2. A settlement is in the journal before it is in the queue, and leaves the journal when it is committed.
3. Nothing is only in memory after `close`.
4. Without room in the journal no hold is taken. Settlements are: they are in memory then, and on their way.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from tollkeeper.core.errors import JournalUnavailable, StoreUnavailable, WorkerFenced
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.ports import (
    CallClaim,
    Extension,
    HoldOrder,
    HoldOutcome,
    HoldVerdict,
    Progress,
    Settlement,
)
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.ledger_rows import as_array, claim_row, columns, hold_row, settle_row
from tollkeeper.storage.ledger.shortages import SHORT, is_enough_once_settled, shorter_budget
from tollkeeper.storage.postgres.batch import BadRow, Batcher
from tollkeeper.storage.postgres.database import Database

# Arrays of numbers, ids and plain words are sent as texts: of every element of an array the driver asks whether that is
# another array, and the database reads a text as soon.
HOLD = """
select verdict, available
from hold_batch($1, $2::text::uuid[], $3::text::smallint[], $4::text::bigint[], $5::text::bigint[], $6::text::bigint[],
                $7::text::bigint[], $8::text::bigint[], $9::text::bigint[], $10::text::integer[])
"""
HOLD_ONE = "select verdict, available from hold_one($1, $2, $3, $4, $5, $6, $7, $8, $9)"
HOLD_ONCE = (
    "select verdict, available, first from hold_once_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
)
NOTE_CUT = "select note_cut($1, $2, $3, $4)"
SETTLE = """
select settled
from settle_batch($1::text::uuid[], $2::text::bigint[], $3::text::bigint[], $4::text::bigint[], $5::text::bigint[],
                  $6::text::bigint[], $7::text::text[], $8::text::text[], $9, $10)
"""
CHECKPOINT = "select checkpoint_batch($1, $2, $3, $4, $5)"

# No caller waits for a settlement, unless quota is short.
SETTLES_GATHER_SECONDS = 0.03
# What ended in another process is booked by then.
OTHERS_SETTLE_SECONDS = 2 * SETTLES_GATHER_SECONDS
# What a settlement that is on its way may change.
NOT_CERTAIN = SHORT | {HoldOutcome.REPEATED_RUNNING}
# Transactions that lost a fight, rather than being wrong.
TRY_AGAIN = (asyncpg.TransactionRollbackError, asyncpg.LockNotAvailableError)
FENCED = "TK001"
OUTCOMES: Mapping[str, HoldOutcome] = {outcome.value: outcome for outcome in HoldOutcome}

log = logging.getLogger(__name__)

AnyQueue = Batcher[Any, Any]


class SqlLedger:
    """The `Ledger` port for one worker process."""

    def __init__(self, database: Database, worker_id: int, journal: Journal, *, patience_seconds: float) -> None:
        self._database = database
        self._worker_id = worker_id
        self._journal = journal
        self._patience_seconds = patience_seconds
        # Set where the database takes no more from this worker: its life is over.
        self.refused = asyncio.Event()
        self._holds = Batcher(self._flush_holds, patience_seconds=patience_seconds, unclaimed=self._void_unclaimed)
        self._settles = Batcher(self._flush_settles, gather_seconds=SETTLES_GATHER_SECONDS)
        self._checkpoints = Batcher(self._flush_checkpoints, patience_seconds=patience_seconds)

    async def hold(self, order: HoldOrder) -> HoldVerdict:
        if self._journal.trouble:
            raise JournalUnavailable
        returned = self._settles.returned
        verdict = await self._hold(order)
        if verdict.outcome in NOT_CERTAIN and await self._settle_now(order.account_id, returned):
            verdict = await self._hold(order)
        if verdict.outcome in SHORT and await self._others_may_settle(order, verdict.outcome):
            verdict = await self._hold(order)
        return await self._with_budget(verdict, order.key_id) if verdict.outcome is HoldOutcome.BUDGET else verdict

    async def extend(self, extension: Extension) -> HoldVerdict:
        returned = self._settles.returned
        verdict = await self._holds.submit(extension)
        if verdict.outcome in SHORT and await self._settle_now(extension.account_id, returned):
            verdict = await self._holds.submit(extension)
        if verdict.outcome in SHORT and await self._others_may_settle(extension, verdict.outcome):
            verdict = await self._holds.submit(extension)
        return await self._with_budget(verdict, extension.key_id) if verdict.outcome is HoldOutcome.BUDGET else verdict

    @property
    def queues(self) -> Mapping[str, AnyQueue]:
        return {"holds": self._holds, "settlements": self._settles, "checkpoints": self._checkpoints}

    @property
    def journal_calls(self) -> int:
        """Calls in the journal that the database does not know to be settled."""
        return self._journal.unbooked

    @property
    def journal_failures(self) -> int:
        """How often it could not be written, or no room be had."""
        return self._journal.failures

    @property
    def journal_trouble(self) -> str:
        """Why no new calls are taken, in words; empty where they are."""
        return self._journal.trouble

    def reserve_journal(self) -> None:
        """Have room for the calls to come, or know why there is none."""
        self._journal.reserve()

    async def _settle_now(self, account_id: int, returned: int) -> bool:
        """What settlements give back to an account is there before anybody is told that its quota is short. Whether
        there may have been any: one that was booked while the question was under way is not waiting any more."""
        waiting = self._settles.hurried(lambda row: row.account_id == account_id)
        if waiting:
            await asyncio.wait(waiting, timeout=self._patience_seconds)
        return bool(waiting) or self._settles.returned != returned

    async def _others_may_settle(self, asked: HoldOrder | Extension, outcome: HoldOutcome) -> bool:
        """Wait once for what other processes may be about to give back. Whether there may be enough then."""
        may_be_enough = await is_enough_once_settled(self._database, asked, outcome)
        if may_be_enough:
            await asyncio.sleep(OTHERS_SETTLE_SECONDS)
        return may_be_enough

    async def _with_budget(self, verdict: HoldVerdict, key_id: int) -> HoldVerdict:
        """With a word on which of a key's budgets was short."""
        return HoldVerdict(verdict.outcome, verdict.available, budget=await shorter_budget(self._database, key_id))

    async def _hold(self, order: HoldOrder) -> HoldVerdict:
        future = self._holds.submit(order)
        try:
            return await future
        except (asyncio.CancelledError, StoreUnavailable):
            self._forsake(order, future)
            raise
        except (WorkerFenced, BadRow):
            # An earlier sending of it may have been taken.
            self.settle(void(order))
            raise

    def note(self, settlement: Settlement) -> None:
        try:
            self._journal.write(settlement)
        except OSError:
            # The journal has said what is wrong. The settlement is not lost with it, unless this process dies as well.
            return

    def note_sending(self, request_id: UUID) -> None:
        try:
            self._journal.write_sending(request_id)
        except OSError:
            # As above.
            return

    def settle(self, settlement: Settlement) -> Awaitable[bool]:
        self.note(settlement)
        return self.book(settlement)

    def book(self, settlement: Settlement) -> Awaitable[bool]:
        """Settle what stands in another worker's journal, which is kept until it is booked."""
        booked = self._settles.submit(settlement)
        if not settlement.charge.amount:
            # Who got nothing for it may send it again at once, with the same idempotency key.
            self._settles.hurry()
        return booked

    async def note_cut(self, request_id: UUID, account_id: int, claim: CallClaim) -> None:
        await self._run(NOTE_CUT, request_id, account_id, claim.digest, claim.body)

    async def checkpoint(self, progress: Progress) -> bool:
        return await self._checkpoints.submit(progress)

    async def close(self) -> None:
        """Book what is waiting. What the database will not take in time stays in the journal for the next worker."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._patience_seconds):
                await self._holds.drain()
                await self._settles.drain()
        self._journal.close()

    def _forsake(self, order: HoldOrder, future: asyncio.Future[HoldVerdict]) -> None:
        """The caller gives up on a hold: nothing was or will be sent upstream under it."""
        if future.done() and not future.cancelled() and future.exception() is None:
            # It was granted in the very moment in which the caller left.
            self._void_unclaimed(order, future.result())
        elif self._holds.is_under_way(future):
            # Not known yet whether it is granted. Should this process die before it is, the journal knows what to do.
            self.note(void(order))

    def _void_unclaimed(self, row: HoldOrder | Extension, verdict: HoldVerdict | None) -> None:
        """Nobody waits for this row any more. No verdict: its fate is unknown, and a void does no harm."""
        if not isinstance(row, HoldOrder):
            return
        if verdict is None or verdict.granted:
            self.settle(void(row))
        else:
            self._journal.booked(row.request_id)

    async def _flush_holds(self, rows: Sequence[HoldOrder | Extension]) -> Sequence[HoldVerdict]:
        if any(isinstance(row, HoldOrder) and row.claim is not None for row in rows):
            return await self._flush_holds_once(rows)
        if len(rows) == 1 and isinstance(rows[0], HoldOrder):
            request_id, _, *asked = hold_row(rows[0])
            found = await self._run(HOLD_ONE, self._worker_id, request_id, *asked)
        else:
            found = await self._run(HOLD, self._worker_id, *map(as_array, zip(*map(hold_row, rows), strict=True)))
        return [HoldVerdict(OUTCOMES[row["verdict"]], Quota(row["available"])) for row in found]

    async def _flush_holds_once(self, rows: Sequence[HoldOrder | Extension]) -> Sequence[HoldVerdict]:
        found = await self._run(
            HOLD_ONCE, self._worker_id, *columns([(*hold_row(row), *claim_row(row)) for row in rows])
        )
        return [HoldVerdict(OUTCOMES[row["verdict"]], Quota(row["available"]), row["first"]) for row in found]

    async def _flush_settles(self, rows: Sequence[Settlement]) -> Sequence[bool]:
        *plain, attempts, parts = zip(*map(settle_row, rows), strict=True)
        found = await self._run(SETTLE, *map(as_array, plain), attempts, parts)
        for row in rows:
            self._journal.booked(row.request_id)
        return [row["settled"] for row in found]

    async def _flush_checkpoints(self, rows: Sequence[Progress]) -> Sequence[bool]:
        asked = [(row.request_id, row.usage.input_units, row.usage.output_units, row.seconds) for row in rows]
        found = await self._run(CHECKPOINT, self._worker_id, *columns(asked))
        open_still = {row["checkpoint_batch"] for row in found}
        return [row.request_id in open_still for row in rows]

    async def _run(self, sql: str, *values: object) -> list[asyncpg.Record]:
        try:
            return await self._database.rows(sql, *values)
        except TRY_AGAIN as problem:
            raise StoreUnavailable from problem
        except asyncpg.PostgresError as problem:
            state = problem.sqlstate or ""
            if state == FENCED:
                self.refused.set()
                raise WorkerFenced from None
            # Missing rights or functions are for the operator to mend, and no fault of the rows: they wait.
            if state[:2] in {"42", "XX"}:
                log.error("the ledger's functions cannot be used: %s", problem)
                raise StoreUnavailable from problem
            raise BadRow(f"{state}: {problem}") from problem
        except asyncpg.DataError as problem:
            raise BadRow("a value does not fit its column") from problem


def void(order: HoldOrder | Settlement, attempts: tuple[Mapping[str, object], ...] = ()) -> Settlement:
    """The settlement of a call that cost nothing."""
    nothing = Charge(Quota(0), Usage(0), UsageSource.NONE)
    return Settlement(
        request_id=order.request_id,
        account_id=order.account_id,
        charge=nothing,
        ending=Ending.REFUSED,
        attempts=attempts,
    )
