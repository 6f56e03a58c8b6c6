"""The gateway: the public service of one worker process."""

import asyncio
import contextlib
import ctypes
import gc
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from tollkeeper.app.limits import limits_of
from tollkeeper.app.parts import (
    VENDORS,
    address_book_of,
    bookkeeper_of,
    crowd_of,
    database_of,
    envelope_keys_of,
    loop_mark_of,
    nudges_of,
    peppers_of,
    pool_of,
    services_of,
    time_limits_of,
    upstream_of,
)
from tollkeeper.core import tokens
from tollkeeper.core_dumps import forbid_core_dumps
from tollkeeper.edge.call_log import CallLog
from tollkeeper.edge.exchange import Receive, Scope, Send
from tollkeeper.edge.lifespan import Stopping, lifespan
from tollkeeper.edge.respond import Gateway, Health
from tollkeeper.edge.routes import ROUTES, RouteTable
from tollkeeper.media.lengths import AudioLengths
from tollkeeper.relay.aside import Aside
from tollkeeper.relay.call import Running
from tollkeeper.relay.count_input import InputCounter
from tollkeeper.relay.dispatch import Dispatcher
from tollkeeper.relay.operations import Measures
from tollkeeper.relay.pipeline import Relay
from tollkeeper.relay.revoked import Revocations
from tollkeeper.settings import Settings
from tollkeeper.steady import survive
from tollkeeper.storage.accounts import SqlBalances
from tollkeeper.storage.bookkeeper import Bookkeeper
from tollkeeper.storage.catalog import SqlCatalog
from tollkeeper.storage.changes import Changes, Nudges
from tollkeeper.storage.database import Database, Part
from tollkeeper.storage.keys import SqlKeys
from tollkeeper.storage.limiter import RedisLimiter
from tollkeeper.storage.nodes import beat
from tollkeeper.storage.price_list import SqlPriceList
from tollkeeper.storage.provider_accounts import SqlProviderAccounts

SIGNAL_CONNECTIONS = 2
BOOKING_CONNECTIONS = 4
# The system's name for "not needed for now".
MADV_PAGEOUT = 21
# glibc's name of the size from which on a block is a mapping of its own.
MMAP_THRESHOLD = -3
LARGE_BYTES = 1024 * 1024
# New objects before the youngest of them are looked through for garbage; nearly all are freed long before, by count.
GARBAGE_OBJECTS = 20_000

App = Callable[[Scope, Receive, Send], Awaitable[None]]


def gateway(settings: Settings) -> App:
    """The ASGI application of one worker process."""
    forbid_core_dumps(inspectable=settings.inspectable)
    # Three pools, so that a flood of lookups starves neither the books nor the feed that keeps snapshots fresh.
    lookups = database_of(settings, Part.GATEWAY)
    signals = database_of(settings, Part.GATEWAY, connections=SIGNAL_CONNECTIONS)
    booking = database_of(settings, Part.GATEWAY, connections=BOOKING_CONNECTIONS)
    changes = Changes(signals)
    nudges = nudges_of(settings)
    bookkeeper = bookkeeper_of(settings, booking)
    call_log = CallLog(sys.stdout.fileno())
    book = address_book_of(settings)
    upstream = upstream_of(settings)
    lengths = AudioLengths()
    pool = pool_of(
        SqlProviderAccounts(lookups, changes, envelope_keys_of(settings)), changes, nudges, lookups, upstream
    )
    limits = limits_of(settings, lookups, changes)
    aside = Aside()
    relay = Relay(
        keys=SqlKeys(lookups, changes, peppers_of(settings), snapshots_most=settings.key_snapshots),
        catalog=SqlCatalog(lookups, changes),
        clock=changes,
        ledger=lambda: bookkeeper.ledger,
        measures=Measures(InputCounter(), lengths),
        dispatcher=Dispatcher(pool, VENDORS, upstream, loop_mark=loop_mark_of(settings), aside=aside),
        running=Running(),
        gate=limits.gate,
        limits=time_limits_of(settings),
        aside=aside,
    )
    services = services_of(settings, relay, SqlBalances(lookups), SqlPriceList(lookups, changes))
    stopping = Stopping(relay.running, drain_seconds=settings.drain_seconds)

    health = partial(_health, changes, bookkeeper, nudges, limits.limiter, stopping)
    crowd = crowd_of(settings)
    http = Gateway(services, RouteTable(ROUTES, book), book, call_log, health, limits.guard)
    always = (
        changes.follow,
        lambda: nudges.follow(lambda text: pool.hear(text) if text else changes.nudge()),
        lambda: beat(signals, settings.node),
        bookkeeper.live,
        Revocations(relay.running, relay.keys).follow,
        crowd.watch,
        *limits.always,
    )
    stores = (nudges, lookups, signals, booking)
    ends = (upstream.close, lengths.close, bookkeeper.close, limits.peaks.tell)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            closing = (*ends, *(store.close for store in stores), call_log.close)
            await lifespan(_life([lookups, signals, booking], always, closing), stopping, receive, send)
        else:
            await crowd.serve(http, scope, receive, send)

    _warm_up()
    return application


def _health(
    changes: Changes, bookkeeper: Bookkeeper, nudges: Nudges, limiter: RedisLimiter, stopping: Stopping
) -> Health:
    return Health(
        ready=changes.fresh and bookkeeper.ready and not stopping.begun,
        database="ok" if changes.fresh else "out of reach",
        ledger="ok" if bookkeeper.ready else "not begun",
        redis="ok" if nudges.connected and limiter.is_live else "out of reach, going by shares",
    )


def _warm_up() -> None:
    """Take upon the start what calls would wait for."""
    _give_back_large_blocks()
    # The first count loads tables for 0.1 s. What they were made from is 30 MB of a file that nobody looks at again.
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
) -> AsyncIterator[None]:
    """From the first connection to the last: what runs always, and how it is ended, in order."""
    for database in databases:
        await database.open()
    tasks = [asyncio.create_task(begin()) for begin in always]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Each in its turn, whatever became of the one before: the books are closed even if Redis is gone.
        for end in ends:
            await survive("shutdown", end)
