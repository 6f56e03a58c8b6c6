"""A usage log of millions of rows: its pages, its charts, and a month's cleanup while calls go on."""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, TypeVar

import msgspec

from proofs.rig.database import a_rate, connect, fill, fresh_database, migrated
from proofs.rig.past_calls import CALLS
from proofs.rig.proof import say
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.prices import Usage
from tollkeeper.core.request_id import uuid7
from tollkeeper.core.usage.log import CHART_DAYS, UsageFilter
from tollkeeper.jobs.clean_usage_log import Turn, clean_usage_log, prepare_copy
from tollkeeper.jobs.roll_up_usage import roll_up_usage
from tollkeeper.log_site.folder import FolderSite
from tollkeeper.ports import HoldOrder, Settlement
from tollkeeper.steady import wait_for_event
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.workers import register
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.usage.cleaning import SqlCleanUsage
from tollkeeper.storage.usage.log import SqlUsageLog
from tollkeeper.storage.usage.rollups import SqlRollups

ACCOUNTS = 2_000
DAYS = 61
CLEANED_DAYS = 30
MODELS = 20
PAGE_LINES = 50
WARM_UP, PAGES, CHARTS = 40, 400, 100
CALLING_ACCOUNTS, CALLS_A_SECOND = 8, 150
QUIET_SECONDS = 10.0
DAY = timedelta(days=1)

Result = TypeVar("Result")

ROWS = """
insert into usage (request_id, account_id, key_id, price_id, group_millionths, input_units, cached_units,
                   output_units, held, charged, usage_source, ending, attempts, started_at, settled_at)
select request_id, account, account, 1 + n % $5, 1000000, 100, 0, 50, 1000000, 300000, 'provider', ending, '[]', at,
       at + interval '1 s'
from ({calls}) calls
"""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    log_p99_ms: float
    chart_p99_ms: float
    cleanup_s: float
    cleaned_days: int
    hold_p99_ratio: float


async def measure(cluster_url: str, rows: int, chance: random.Random) -> Figures:
    url = await fresh_database(cluster_url, "log")
    await asyncio.to_thread(migrated, url)
    await fill(url, ACCOUNTS)
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    await _write_log(url, rows, today)
    async with AsyncExitStack() as stack:
        reader, worker, gateway = [
            await stack.enter_async_context(_opened(url, part))
            for part in (DatabaseRole.CONSOLE, DatabaseRole.WORKER, DatabaseRole.GATEWAY)
        ]
        say("adding it up by day")
        await roll_up_usage(SqlRollups(worker))
        await _vacuum(url)
        log = SqlUsageLog(reader)
        page_ms = await _p99_ms(PAGES, lambda: log.page(_asked(chance, today), after=None, limit=PAGE_LINES))
        chart_ms = await _p99_ms(CHARTS, lambda: log.chart(_charted(chance), days=CHART_DAYS))
        say(f"p99: a page {page_ms:.1f} ms, a chart {chart_ms:.1f} ms")
        async with _ledger(gateway) as ledger, _cleaner(worker) as (log_of_worker, site):
            quiet = await _holds_while(ledger, asyncio.sleep(QUIET_SECONDS))
            copying = await _holds_while(ledger, _prepare(log_of_worker, site))
            cleaning = await _holds_while(
                ledger, clean_usage_log(log_of_worker, site, (today - (DAYS - CLEANED_DAYS) * DAY).date())
            )
    say(f"the days to clean were copied beforehand, in {copying.seconds:.1f} s, by three a night")
    say(f"holds at p99: {quiet.p99_ms:.1f} ms, {copying.p99_ms:.1f} copying, {cleaning.p99_ms:.1f} cleaning")
    say(f"{sum(day.rows for day in cleaning.came_of_it.days):,} calls were cleaned")
    return Figures(
        log_p99_ms=round(page_ms, 1),
        chart_p99_ms=round(chart_ms, 1),
        cleanup_s=round(cleaning.seconds, 2),
        cleaned_days=len(cleaning.came_of_it.days),
        hold_p99_ratio=round(cleaning.p99_ms / quiet.p99_ms, 2),
    )


async def _write_log(url: str, rows: int, today: datetime) -> None:
    connection = await connect(url)
    try:
        await connection.execute(
            "insert into model (id, kind) select 'm' || n, 'chat' from generate_series(1, $1) n", MODELS
        )
        await connection.execute(
            "insert into price (model_id, model_multiplier) select 'm' || n, 1 from generate_series(1, $1) n", MODELS
        )
        for number in range(DAYS, 0, -1):
            day = today - number * DAY
            await connection.execute("select make_partition('usage', $1, $2)", day, day + DAY)
            until = day + DAY - timedelta(minutes=1)
            await connection.execute(ROWS.format(calls=CALLS), day, until, rows // DAYS, ACCOUNTS, MODELS)
            if number % 10 == 0:
                say(f"{rows - rows // DAYS * number:,} of {rows:,} rows are in the log")
    finally:
        await connection.close()


async def _vacuum(url: str) -> None:
    connection = await connect(url)
    try:
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()


def _asked(chance: random.Random, today: datetime) -> UsageFilter:
    """What somebody may ask for on the page of the log: a customer of their own calls, an operator of everybody's."""
    since = today - chance.randrange(1, DAYS) * DAY if chance.random() < 0.5 else None
    return UsageFilter(
        account_id=chance.randrange(1, ACCOUNTS + 1) if chance.random() < 0.7 else None,
        key_id=chance.randrange(1, ACCOUNTS + 1) if chance.random() < 0.2 else None,
        model_id=f"m{chance.randrange(1, MODELS + 1)}" if chance.random() < 0.4 else None,
        ending=chance.choice([Ending.COMPLETED, Ending.CUT, Ending.CLIENT_LEFT]) if chance.random() < 0.4 else None,
        since=since,
        until=None if since is None or chance.random() < 0.5 else since + chance.randrange(1, 8) * DAY,
    )


def _charted(chance: random.Random) -> UsageFilter:
    return UsageFilter(
        account_id=chance.randrange(1, ACCOUNTS + 1) if chance.random() < 0.8 else None,
        model_id=f"m{chance.randrange(1, MODELS + 1)}" if chance.random() < 0.3 else None,
    )


async def _p99_ms(times: int, ask: Callable[[], Awaitable[object]]) -> float:
    for _ in range(WARM_UP):
        await ask()
    waits = []
    for _ in range(times):
        begun = time.perf_counter()
        await ask()
        waits.append(time.perf_counter() - begun)
    return _p99(waits)


def _p99(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)] * 1_000


@asynccontextmanager
async def _cleaner(worker: Database) -> AsyncIterator[tuple[SqlCleanUsage, FolderSite]]:
    with TemporaryDirectory(prefix="tollkeeper-log-site-") as folder:
        yield SqlCleanUsage(worker), FolderSite(Path(folder))


async def _prepare(log: SqlCleanUsage, site: FolderSite) -> None:
    """As the nights before a cleanup do."""
    turn = Turn(keep_days=DAYS - CLEANED_DAYS, every_days=CLEANED_DAYS)
    while await prepare_copy(log, site, turn):
        pass


class Meanwhile(msgspec.Struct, Generic[Result]):
    p99_ms: float
    seconds: float
    came_of_it: Result


async def _holds_while(ledger: SqlLedger, work: Awaitable[Result]) -> Meanwhile[Result]:
    """Calls go on until `work` is done: how long their holds took at p99."""
    waits: list[float] = []
    over = asyncio.Event()
    begun = time.perf_counter()
    calls = asyncio.create_task(_calls(ledger, waits, over))
    try:
        done = await work
        seconds = time.perf_counter() - begun
    finally:
        over.set()
        await calls
    return Meanwhile(_p99(waits), seconds, done)


async def _calls(ledger: SqlLedger, waits: list[float], over: asyncio.Event) -> None:
    """Calls begin at an even pace, however long those before them take; and all of them end."""
    begun = time.perf_counter()
    async with asyncio.TaskGroup() as calls:
        for number in count():
            if await wait_for_event(over, max(0.0, begun + number / CALLS_A_SECOND - time.perf_counter())):
                return
            calls.create_task(_call(ledger, 1 + number % CALLING_ACCOUNTS, waits))


async def _call(ledger: SqlLedger, account: int, waits: list[float]) -> None:
    request_id = uuid7(time.time_ns() // 1_000_000, os.urandom(10))
    order = HoldOrder(
        request_id=request_id,
        account_id=account,
        key_id=account,
        amount=Quota(2_125_000_000),
        rate=a_rate(),
        input_units=100,
        seconds=160,
    )
    begun = time.perf_counter()
    verdict = await ledger.hold(order)
    waits.append(time.perf_counter() - begun)
    assert verdict.granted, verdict
    charge = Charge(Quota(1_000_000_000), Usage(100, 175), UsageSource.PROVIDER)
    await ledger.settle(Settlement(request_id=request_id, account_id=account, charge=charge, ending=Ending.COMPLETED))


@asynccontextmanager
async def _opened(url: str, part: DatabaseRole) -> AsyncIterator[Database]:
    database = Database(url, part, connections=4, patience_seconds=60)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def _ledger(gateway: Database) -> AsyncIterator[SqlLedger]:
    worker_id = await register(gateway, "callers")
    with TemporaryDirectory(prefix="tollkeeper-journal-") as folder:
        ledger = SqlLedger(gateway, worker_id, Journal(Path(folder), worker_id), patience_seconds=60)
        try:
            yield ledger
        finally:
            await ledger.close()
