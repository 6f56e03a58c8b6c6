"""What each kind of process tells on its metrics port."""

import asyncio
from collections.abc import Callable, Iterable, Iterator

import msgspec

from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.edge.call_log import CallLog
from tollkeeper.edge.calls import Relayed
from tollkeeper.edge.respond import OK, HealthReport
from tollkeeper.edge.routes import ROUTES
from tollkeeper.metrics import table
from tollkeeper.metrics.port import Collect, MetricsPort, WhyNotReady
from tollkeeper.metrics.series import Sample, each
from tollkeeper.ports.jobs import JobRecord
from tollkeeper.providers.pool import LivePool
from tollkeeper.providers.standing import AccountState
from tollkeeper.relay.pipeline import Relay
from tollkeeper.settings import Settings
from tollkeeper.steady import run_and_log
from tollkeeper.storage.jobs.book import jobs_on_record
from tollkeeper.storage.ledger.bookkeeper import Bookkeeper
from tollkeeper.storage.ledger.open_holds import open_holds
from tollkeeper.storage.limits.limiter import RedisLimiter
from tollkeeper.storage.people.outbox import mails_waiting
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.webhooks.deliveries import webhooks_standing

# The paths of what is relayed: each has figures of its own.
RELAYED = tuple(route.path for route in ROUTES if isinstance(route.endpoint, Relayed))
CHECK_BOOKS = "check_books"
# Before they are known for the first time, the provider accounts are asked of the database.
POOL_SECONDS = 1.0


def port_of(
    settings: Settings,
    part: str,
    port: int,
    collect: Collect,
    *,
    processes: int = 1,
    why_not_ready: WhyNotReady | None = None,
) -> MetricsPort:
    """Where a process of this part is asked for its metrics. What fails meanwhile is logged, and left out."""

    async def collected() -> Iterable[Sample]:
        found: list[Sample] = []

        async def look() -> None:
            found.extend(await collect())

        await run_and_log("collecting metrics", look)
        return found

    return MetricsPort(part, settings.metrics_host, port, collected, processes=processes, why_not_ready=why_not_ready)


class GatewayWatch(msgspec.Struct, frozen=True):
    """What one worker process of the gateway knows of itself."""

    relay: Relay
    bookkeeper: Bookkeeper
    limiter: RedisLimiter
    pool: LivePool
    call_log: CallLog
    health: Callable[[], HealthReport]
    # Of calls whose spans nobody took, where they are sent somewhere.
    untraced_calls: Callable[[], int] | None = None

    async def collect(self) -> Iterable[Sample]:
        return [*self.relay.figures.samples(), *self._of_stores(), *self._of_ledger(), *await self._of_pool()]

    def _of_stores(self) -> Iterator[Sample]:
        yield table.CALLS_UNDER_WAY, (), self.relay.running.count
        health = self.health()
        yield table.READY, (), health.ready
        yield table.STOPPING, (), health.node != OK
        yield table.DATABASE_FRESH, (), health.database == OK
        yield table.LIMITER_ALONE, (), not self.limiter.is_live
        yield from each(table.LIMITER_REFUSALS, self.relay.gate.refusals.items())
        yield table.CALL_LOG_DROPPED, (), self.call_log.dropped_lines
        if self.untraced_calls is not None:
            yield table.TRACES_DROPPED, (), self.untraced_calls()

    def _of_ledger(self) -> Iterator[Sample]:
        if not self.bookkeeper.begun:
            return
        ledger = self.bookkeeper.ledger
        for name, queue in ledger.queues.items():
            yield table.BATCH_ROWS, (name,), queue.sizes
            yield table.QUEUE_ROWS, (name,), queue.rows
            yield table.QUEUE_SECONDS, (name,), queue.oldest_seconds
        yield table.JOURNAL_CALLS, (), ledger.journal_calls
        yield table.JOURNAL_FAILURES, (), ledger.journal_failures

    async def _of_pool(self) -> Iterable[Sample]:
        try:
            async with asyncio.timeout(POOL_SECONDS):
                accounts = await self.pool.standings()
        except (StoreUnavailable, TimeoutError):
            return ()
        states: list[Sample] = [
            (table.ACCOUNT_STATE, (account.name, state), account.state is state)
            for account in accounts
            for state in AccountState
        ]
        return [*states, *((table.ACCOUNT_CALLS, (account.name,), account.calls) for account in accounts)]


class WorkerWatch(msgspec.Struct, frozen=True):
    """What only the database knows, of all nodes."""

    database: Database

    async def collect(self) -> Iterable[Sample]:
        try:
            holds = await open_holds(self.database)
            jobs = await jobs_on_record(self.database)
            mails, oldest_mail_seconds = await mails_waiting(self.database)
            failing, waiting = await webhooks_standing(self.database)
        except StoreUnavailable:
            return [(table.STORE_ANSWERED, (), 0)]
        return [
            (table.STORE_ANSWERED, (), 1),
            (table.OPEN_HOLDS, (), holds.holds),
            (table.OLDEST_HOLD, (), holds.oldest_seconds),
            (table.OVERDUE_HOLDS, (), holds.overdue),
            (table.MAILS_WAITING, (), mails),
            (table.OLDEST_MAIL, (), oldest_mail_seconds),
            (table.WEBHOOKS_FAILING, (), failing),
            (table.WEBHOOK_DELIVERIES_WAITING, (), waiting),
            *(sample for job in jobs for sample in _of_job(job)),
        ]


def _of_job(job: JobRecord) -> Iterator[Sample]:
    yield table.JOB_EVERY, (job.name,), job.every_seconds
    yield table.JOB_RUNS, (job.name,), job.runs
    yield table.JOB_FAILURES, (job.name,), job.failures
    if job.name == CHECK_BOOKS and job.judged_at is not None and job.judged_well is not None:
        yield table.BOOKS_CLEAN, (), job.judged_well
        yield table.BOOKS_CHECKED, (), job.judged_at.timestamp()
    if job.went_well is None:
        return
    yield table.JOB_WENT_WELL, (job.name,), job.went_well
    if job.ended_at is not None:
        yield table.JOB_ENDED, (job.name,), job.ended_at.timestamp()
