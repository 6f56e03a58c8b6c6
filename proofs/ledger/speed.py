"""How fast the ledger is through our code, and how fast its SQL functions are when pgbench drives them."""

import asyncio
import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import msgspec

from proofs.rig.database import a_rate, connect
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.core.request_id import uuid7
from tollkeeper.demo.servers.postgres import binary
from tollkeeper.ports import HoldOrder, Settlement
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.workers import register
from tollkeeper.storage.postgres.database import Database, DatabaseRole

CONCURRENCY = 256
CONNECTIONS = 2
# Times as long as was asked for.
LONGER = (1, 4, 16)

# The same two functions, batch after batch, each in a transaction of its own, with nothing but PostgreSQL around them.
BARE = """
create procedure bench_pair(rows integer, accounts integer, worker bigint) language plpgsql as $$
declare
    ids uuid[] := array(select tollkeeper.ledger_uuid() from generate_series(1, rows));
    folk bigint[] := array(select 1 + floor(random() * accounts)::bigint from generate_series(1, rows));
begin
    perform count(*) from tollkeeper.hold_batch(worker, ids, array_fill(0::smallint, array[rows]), folk, folk,
        array_fill(2125000000::bigint, array[rows]), array_fill(1::bigint, array[rows]),
        array_fill(1000000::bigint, array[rows]), array_fill(100::bigint, array[rows]), array_fill(160, array[rows]));
    commit;
    perform count(*) from tollkeeper.settle_batch(ids, folk, array_fill(1000000000::bigint, array[rows]),
        array_fill(100::bigint, array[rows]), array_fill(0::bigint, array[rows]), array_fill(175::bigint, array[rows]),
        array_fill('provider'::text, array[rows]), array_fill('completed'::text, array[rows]),
        array_fill('[]'::text, array[rows]));
    commit;
end $$
"""


class Speeds(msgspec.Struct, frozen=True):
    per_second: float
    hot_account_per_second: float
    ratio_to_bare: float
    batch_rows: float
    hold_p50_ms: float
    hold_p99_ms: float


class Counted(SqlLedger):
    """The product's ledger, which also notes the sizes of its batches."""

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)  # type: ignore[arg-type]
        self.sizes: list[int] = []

    async def _flush_holds(self, rows):  # type: ignore[no-untyped-def]
        self.sizes.append(len(rows))
        return await super()._flush_holds(rows)


async def measure(url: str, *, accounts: int, seconds: float, rounds: int) -> Speeds:
    """Ours and bare by turns, so that both meet the same mood of the machine."""
    connection = await connect(url)
    await connection.execute(BARE)
    ours, bare, hot, sizes, waits = [], [], [], [], []
    # Fresh tables grow and fresh sessions plan: neither is what is measured here.
    await _ours(url, accounts, seconds)
    await asyncio.to_thread(_bare, url, CONCURRENCY, accounts, seconds)
    for _ in range(rounds):
        rate, batch_rows, waited = await _ours(url, accounts, seconds)
        ours.append(rate)
        sizes.append(batch_rows)
        waits += waited
        bare.append(await asyncio.to_thread(_bare, url, round(batch_rows), accounts, seconds))
        hot.append((await _ours(url, 1, seconds))[0])
    await connection.close()
    waits.sort()
    return Speeds(
        per_second=statistics.median(ours),
        hot_account_per_second=statistics.median(hot),
        ratio_to_bare=statistics.median(mine / theirs for mine, theirs in zip(ours, bare, strict=True)),
        batch_rows=statistics.mean(sizes),
        hold_p50_ms=waits[len(waits) // 2] * 1_000,
        hold_p99_ms=waits[int(len(waits) * 0.99)] * 1_000,
    )


async def _ours(url: str, accounts: int, seconds: float) -> tuple[float, float, list[float]]:
    """Calls per second of one worker with 256 concurrent calls, its mean batch, and how long holds took."""
    database = Database(url, DatabaseRole.GATEWAY, connections=CONNECTIONS, patience_seconds=30)
    await database.open()
    worker_id = await register(database, "speed")
    with tempfile.TemporaryDirectory(prefix="tollkeeper-speed-") as folder:
        ledger = Counted(database, worker_id, Journal(Path(folder), worker_id), patience_seconds=30)
        deadline = time.perf_counter() + seconds
        waits: list[float] = []
        rate, usage = a_rate(), Usage(100, 175)
        charge = Charge(Quota(1_000_000_000), usage, UsageSource.PROVIDER)

        async def caller(chance: random.Random) -> int:
            calls = 0
            while time.perf_counter() < deadline:
                account = chance.randrange(1, accounts + 1)
                request_id = uuid7(time.time_ns() // 1_000_000, os.urandom(10))
                begun = time.perf_counter()
                verdict = await ledger.hold(
                    HoldOrder(
                        request_id=request_id,
                        account_id=account,
                        key_id=account,
                        amount=Quota(2_125_000_000),
                        rate=rate,
                        input_units=100,
                        seconds=160,
                    )
                )
                waits.append(time.perf_counter() - begun)
                assert verdict.granted, verdict
                await ledger.settle(
                    Settlement(request_id=request_id, account_id=account, charge=charge, ending=Ending.COMPLETED)
                )
                calls += 1
            return calls

        begun = time.perf_counter()
        calls = sum(await asyncio.gather(*(caller(random.Random(number)) for number in range(CONCURRENCY))))
        spent = time.perf_counter() - begun
        await ledger.close()
    await database.close()
    return calls / spent, statistics.mean(ledger.sizes), waits


def _bare(url: str, rows: int, accounts: int, seconds: float) -> float:
    """Rows per second through the same functions, same batch size, same number of connections."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(f"call tollkeeper.bench_pair({rows}, {accounts}, 1)\n")
        script.flush()
        # A machine that is very busy may not get a single transaction done in so short a time: then take longer.
        for longer in LONGER:
            told = _pgbench(url, script.name, seconds * longer)
            rates = [float(line.split()[2]) for line in told.splitlines() if line.startswith("tps")]
            if rates:
                return rates[0] * rows
    raise RuntimeError(f"pgbench did nothing within {seconds * max(LONGER):g} s")


def _pgbench(url: str, script: str, seconds: float) -> str:
    command = [binary("pgbench"), "-n", "-f", script, "-c", str(CONNECTIONS), "-T", str(round(seconds)), url]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
