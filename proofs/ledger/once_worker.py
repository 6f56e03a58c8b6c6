"""A worker that makes calls with one key in many tasks at once, a round at a time, and may be killed at any moment.

Rounds come in on its standard input, one number a line. Every call of a round has the round's key. Some end uncharged,
after which another is to be admitted. The round is over for this worker when each of its callers has either paid or
been told that somebody has: then it says the number on its standard output.
"""

import asyncio
import os
import random
import sys
import time
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import msgspec

from tollkeeper.core.errors import Unavailable
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.prices import Rate, Usage
from tollkeeper.core.request_id import uuid7
from tollkeeper.ports import CallClaim, HoldOrder, HoldOutcome, Settlement
from tollkeeper.storage.ledger.bookkeeper import Bookkeeper
from tollkeeper.storage.postgres.database import Database, DatabaseRole

INPUT_TOKENS = 100
HOLD_OUTPUT_TOKENS = 400
ANSWER_SECONDS = 0.02
LOOK_AGAIN_SECONDS = 0.05


class OncePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is told on its command line, as JSON."""

    database_url: str
    journal_folder: str
    # Where it writes which call belongs to which round, before it asks for the hold.
    calls_file: str
    rate: Rate
    account: int
    callers: int
    uncharged_share: float
    seed: int


class OnceWorker:
    def __init__(self, plan: OncePlan, bookkeeper: Bookkeeper) -> None:
        self._plan = plan
        self._bookkeeper = bookkeeper
        self._chance = random.Random(plan.seed)
        self._calls = os.open(plan.calls_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def round(self, number: int) -> None:
        digest = sha256(b"round %d" % number).digest()
        await asyncio.gather(*(self._caller(number, CallClaim(digest, digest)) for _ in range(self._plan.callers)))

    async def _caller(self, number: int, claim: CallClaim) -> None:
        """Until the round is paid for, by this call or by another."""
        while True:
            try:
                if await self._call(number, claim):
                    return
            except Unavailable:
                pass
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def _call(self, number: int, claim: CallClaim) -> bool:
        ledger, rate, account = self._bookkeeper.ledger, self._plan.rate, self._plan.account
        request_id = uuid7(time.time_ns() // 1_000_000, os.urandom(10))
        os.write(self._calls, f"{number} {request_id}\n".encode())
        verdict = await ledger.hold(
            HoldOrder(
                request_id=request_id,
                account_id=account,
                key_id=account,
                amount=rate.ceiling(Usage(INPUT_TOKENS, HOLD_OUTPUT_TOKENS)),
                rate=rate,
                input_units=INPUT_TOKENS,
                seconds=160,
                claim=claim,
            )
        )
        if not verdict.granted:
            return verdict.outcome is HoldOutcome.REPEATED
        await asyncio.sleep(self._chance.random() * ANSWER_SECONDS)
        due = self._due()
        await ledger.settle(self._settlement(request_id, due))
        return due.amount > 0

    def _due(self) -> Charge:
        if self._chance.random() < self._plan.uncharged_share:
            return Charge(Quota(0), Usage(0), UsageSource.NONE)
        usage = Usage(INPUT_TOKENS, self._chance.randrange(1, HOLD_OUTPUT_TOKENS))
        return Charge(self._plan.rate.charge(usage), usage, UsageSource.PROVIDER)

    def _settlement(self, request_id: UUID, due: Charge) -> Settlement:
        ending = Ending.COMPLETED if due.amount else Ending.REFUSED
        return Settlement(request_id=request_id, account_id=self._plan.account, charge=due, ending=ending)


async def main(plan: OncePlan) -> None:
    database = Database(plan.database_url, DatabaseRole.GATEWAY, connections=4, patience_seconds=10)
    await database.open()
    bookkeeper = Bookkeeper(database, f"once-{os.getpid()}", Path(plan.journal_folder), patience_seconds=10)
    living = asyncio.create_task(bookkeeper.live())
    worker = OnceWorker(plan, bookkeeper)
    while line := await asyncio.to_thread(sys.stdin.readline):
        await worker.round(int(line))
        print(int(line), flush=True)
    living.cancel()
    await asyncio.gather(living, return_exceptions=True)
    await bookkeeper.close()
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(msgspec.json.decode(sys.argv[1], type=OncePlan)))
