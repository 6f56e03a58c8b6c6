"""The gateway: the public service of one worker process."""

import asyncio
import contextlib
import ctypes
import gc
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec

from tollkeeper.app.database import database_of
from tollkeeper.app.limits import rate_limits_of
from tollkeeper.app.metrics import RELAYED, GatewayWatch, port_of
from tollkeeper.app.parts import address_book_of, bookkeeper_of, gateway_site_of, notifier_of
from tollkeeper.app.providers import VENDORS, pool_of, timeouts_of, upstream_of
from tollkeeper.app.secrets import call_digests_of, envelope_keys_of, known_secrets_of, loop_mark_of, peppers_of
from tollkeeper.app.telemetry import telemetry_of
from tollkeeper.core.calls import tokens
from tollkeeper.core_dumps import forbid_core_dumps
from tollkeeper.edge.call_log import CallLog
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.http.body import BodyReader
from tollkeeper.edge.http.lifespan import Stopping, lifespan
from tollkeeper.edge.pages.pages import GatewayPages
from tollkeeper.edge.price_pages import PricePages
from tollkeeper.edge.respond import OK, Gateway, HealthReport
from tollkeeper.edge.routes import ROUTES, RouteTable
from tollkeeper.media.lengths import ProcessAudioLengths
from tollkeeper.metrics import table
from tollkeeper.metrics.calls import CallFigures
from tollkeeper.metrics.recent_counts import RecentCounts
from tollkeeper.ports.providers.live import PoolReport
from tollkeeper.ports.refused import NoteRefused
from tollkeeper.providers.pool import LivePool
from tollkeeper.relay.aside import Aside
from tollkeeper.relay.by_bound import QuotaInPlenty
from tollkeeper.relay.call import Running
from tollkeeper.relay.count_input import InputCounter
from tollkeeper.relay.dispatch.dispatch import Dispatcher
from tollkeeper.relay.ended import EndedCall
from tollkeeper.relay.operations import Measures
from tollkeeper.relay.payment import Claims
from tollkeeper.relay.pipeline import Relay
from tollkeeper.relay.revoked import Revocations
from tollkeeper.server.application import Application, HttpRequest, Port
from tollkeeper.settings import Settings
from tollkeeper.steady import run_and_log
from tollkeeper.storage.catalog.models import SqlCatalog
from tollkeeper.storage.catalog.price_list import SqlPriceList
from tollkeeper.storage.customers.accounts import SqlBalances
from tollkeeper.storage.customers.keys import SqlKeys
from tollkeeper.storage.customers.lot_desk import SqlOpenLots
from tollkeeper.storage.customers.redigest import SqlRedigests
from tollkeeper.storage.ledger.bookkeeper import NOT_BEGUN, Bookkeeper
from tollkeeper.storage.limits.limiter import RedisLimiter
from tollkeeper.storage.postgres.changes import ChangeNotifier, Changes
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.postgres.nodes import beat
from tollkeeper.storage.postgres.request_ids import new_request_id
from tollkeeper.storage.providers.accounts import SqlProviderAccounts
from tollkeeper.storage.providers.reports import SqlPoolReports
from tollkeeper.storage.usage.log import SqlUsageLog
from tollkeeper.storage.usage.receipts import SqlReceipts
from tollkeeper.storage.usage.refused import SqlRefusalBook

SIGNAL_CONNECTIONS = 2
BOOKING_CONNECTIONS = 4
# Reports of the pool whose calls are in our own latency: five minutes of them.
OWN_LOOKS = 60
# How long, and how often, it is looked whether a worker can serve before its port is opened in any case.
BEGINNING_LOOKS, BEGINNING_LOOK_SECONDS = 250, 0.02
# The system's name for "not needed for now".
MADV_PAGEOUT = 21
# glibc's name of the size from which on a block is a mapping of its own.
MMAP_THRESHOLD = -3
LARGE_BYTES = 1024 * 1024
# New objects before the youngest of them are looked through for garbage; nearly all are freed long before, by count.
GARBAGE_OBJECTS = 20_000


def gateway(settings: Settings) -> Application:
    """The application of one worker process."""
    forbid_core_dumps(inspectable=settings.inspectable)
    lookups, signals, booking = databases = _connection_pools(settings)
    changes, notifier, upstream = Changes(signals), notifier_of(settings), upstream_of(settings)
    bookkeeper, call_log = bookkeeper_of(settings, booking), CallLog(sys.stdout.fileno())
    book, lengths, aside = address_book_of(settings), ProcessAudioLengths(), Aside()
    accounts = SqlProviderAccounts(lookups, changes, envelope_keys_of(settings))
    pool = pool_of(settings, accounts, changes, notifier, lookups, upstream)
    rate_limits = rate_limits_of(settings, lookups, changes)
    keys, redigests = _keys_of(settings, lookups, signals, changes)
    relay = Relay(
        keys=keys,
        catalog=SqlCatalog(lookups, changes),
        clock=changes,
        ledger=lambda: bookkeeper.ledger,
        measures=Measures(InputCounter(), lengths, QuotaInPlenty(lambda: changes.live_workers)),
        dispatcher=Dispatcher(pool, VENDORS, upstream, loop_mark=loop_mark_of(settings), aside=aside),
        running=Running(),
        gate=rate_limits.gate,
        timeouts=timeouts_of(settings),
        aside=aside,
        claims=Claims(call_digests_of(settings), aside),
        figures=CallFigures(RELAYED),
    )
    telemetry, refusals = telemetry_of(settings), SqlRefusalBook(lookups)
    services = services_of(settings, relay, lookups, changes, telemetry.on_ended, refusals.note)
    stopping = stopping_of(settings, relay.running)
    health = partial(_health, changes, bookkeeper, notifier, rate_limits.limiter, accounts, stopping)
    http = Gateway(services, RouteTable(ROUTES, book), book, call_log, health, rate_limits.guard)
    reports = SqlPoolReports(signals, settings.node, os.getpid(), reporter_of(pool, relay.figures))
    watch = GatewayWatch(relay, bookkeeper, rate_limits.limiter, pool, call_log, health, telemetry.dropped_calls)
    always = (
        changes.follow,
        lambda: notifier.follow(lambda text: pool.on_message(text) if text else changes.nudge()),
        lambda: beat(signals, settings.node, known_secrets_of(settings)),
        redigests.follow,
        reports.follow,
        bookkeeper.live,
        accounts.follow,
        Revocations(relay.running, relay.keys).follow,
        refusals.follow,
        port_of(settings, "gateway", settings.metrics_port, watch.collect, processes=2 * settings.workers).serve,
        *rate_limits.always,
        *telemetry.always,
    )
    ends = (upstream.close, lengths.close, bookkeeper.close, rate_limits.peaks.flush, refusals.flush, reports.end)

    async def answer(request: HttpRequest) -> None:
        if stopping.begun:
            # Whoever kept the connection for further calls would send them to a port that is about to close.
            request.hang_up()
        await http.answer(request)

    def life(port: Port) -> AbstractAsyncContextManager[None]:
        closing = (*ends, *(store.close for store in (notifier, *databases)), call_log.close, *telemetry.ends)
        return lifespan(_life(databases, always, closing, partial(_beginning, health, bookkeeper)), stopping, port)

    _warm_up()
    return Application(answer, life)


def _connection_pools(settings: Settings) -> tuple[Database, Database, Database]:
    """Three, so that a flood of lookups starves neither the books nor the feed that keeps snapshots fresh."""
    return (
        database_of(settings, DatabaseRole.GATEWAY),
        database_of(settings, DatabaseRole.GATEWAY, connections=SIGNAL_CONNECTIONS),
        database_of(settings, DatabaseRole.GATEWAY, connections=BOOKING_CONNECTIONS),
    )


def _keys_of(
    settings: Settings, lookups: Database, signals: Database, changes: Changes
) -> tuple[SqlKeys, SqlRedigests]:
    peppers = peppers_of(settings)
    redigests = SqlRedigests(signals, peppers.in_use)
    most = settings.key_snapshots
    return SqlKeys(lookups, changes, peppers, snapshots_most=most, redigest=redigests.note), redigests


def reporter_of(pool: LivePool, figures: CallFigures) -> Callable[[], PoolReport]:
    """What makes a report of the pool and of our own latency, each time it is called."""
    own, bounds_ms = RecentCounts(figures.own_counts, looks=OWN_LOOKS), [1_000 * each for each in table.OWN_BUCKETS]

    def report() -> PoolReport:
        return msgspec.structs.replace(pool.report(), own_bounds_ms=bounds_ms, own_counts=own.look())

    return report


async def _beginning(health: Callable[[], HealthReport], bookkeeper: Bookkeeper) -> None:
    """Wait until calls can be served, for some seconds, unless something is known to stand against that."""
    for _ in range(BEGINNING_LOOKS):
        if health().ready or bookkeeper.trouble not in {"", NOT_BEGUN}:
            return
        await asyncio.sleep(BEGINNING_LOOK_SECONDS)


def stopping_of(settings: Settings, running: Running) -> Stopping:
    return Stopping(running, lame_duck_seconds=settings.lame_duck_seconds, drain_seconds=settings.drain_seconds)


def _health(
    changes: Changes,
    bookkeeper: Bookkeeper,
    notifier: ChangeNotifier,
    limiter: RedisLimiter,
    accounts: SqlProviderAccounts,
    stopping: Stopping,
) -> HealthReport:
    """Without provider accounts a node is ready: it was never given any, and no other node would do better. Where there
    are some and it can open none, it lacks a secret that others have: calls must go to those. A newer schema and a
    wrong clock are told, and harm no call."""
    providers = "not read yet" if accounts.trouble is None else accounts.trouble or accounts.left_out or OK
    return HealthReport(
        ready=changes.fresh and bookkeeper.ready and accounts.trouble == "" and not stopping.refuses,
        database=OK if changes.fresh else changes.trouble or "out of reach",
        schema=changes.schema.newer or OK,
        clock=changes.clock_trouble or OK,
        ledger=bookkeeper.trouble or OK,
        node="stopping" if stopping.refuses else OK,
        redis=OK if notifier.connected and limiter.is_live else "out of reach, going by shares",
        providers=providers,
    )


def _warm_up() -> None:
    """Take upon the start what calls would wait for."""
    _give_back_large_blocks()
    # The first count loads the tokenizer's tables for 0.1 s. They are made from 30 MB of a file that is not read again.
    tokens.count("")
    _put_aside(tokens.library())
    # What is loaded by now stays; looking through it again and again for garbage took a tenth of every call.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, 20, 50)


def _give_back_large_blocks() -> None:
    """Uploads and long prompts go back to the system as soon as they are let go. Left to itself, glibc would learn to
    keep such blocks, in pieces. Other C libraries have no such habit."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, LARGE_BYTES)


def _put_aside(library: str) -> None:
    """Give the memory back that the pages of a file take; what is needed again is read again. A favour that the system
    may do or not."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        madvise = ctypes.CDLL(None).madvise
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            if library and line.endswith(os.path.realpath(library)):
                begin, end = (int(address, 16) for address in line.split()[0].split("-"))
                madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), MADV_PAGEOUT)


@asynccontextmanager
async def _life(
    databases: Iterable[Database],
    always: Iterable[Callable[[], Coroutine[None, None, None]]],
    ends: Iterable[Callable[[], Awaitable[None]]],
    beginning: Callable[[], Awaitable[None]],
) -> AsyncIterator[None]:
    """From the first connection to the last: what runs always, and how it is ended, in order. The port is opened when
    all that has begun: a worker that follows a dead one would refuse the first calls otherwise."""
    for database in databases:
        await database.open()
    tasks = [asyncio.create_task(begin()) for begin in always]
    try:
        await beginning()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Each in its turn, whatever became of the one before: the books are closed even if Redis is gone.
        for end in ends:
            await run_and_log("shutdown", end)


def services_of(
    settings: Settings,
    relay: Relay,
    lookups: Database,
    changes: Changes,
    on_ended: Callable[[EndedCall], None] | None,
    on_refused: NoteRefused,
) -> Services:
    return Services(
        relay=relay,
        balances=SqlBalances(lookups),
        receipts=SqlReceipts(lookups),
        usage=SqlUsageLog(lookups),
        prices=PricePages(SqlPriceList(lookups, changes), owner=settings.provider_domain),
        pages=GatewayPages(gateway_site_of(settings), SqlOpenLots(lookups)),
        bodies=BodyReader(reading_bytes_most=settings.reading_bytes, seconds_most=settings.body_seconds),
        new_request_id=new_request_id,
        owned_by=settings.provider_domain,
        keep_alive_seconds=settings.keep_alive_seconds,
        loop_mark=loop_mark_of(settings),
        on_ended=on_ended,
        on_refused=on_refused,
    )
