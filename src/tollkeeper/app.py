"""The composition root: the only file that names concrete adapters."""

import asyncio
import gc
import getpass
import hmac
import secrets
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from redis.asyncio import Redis

from tollkeeper.accounts.keys import KeyMaker
from tollkeeper.core import tokens
from tollkeeper.core.addresses import Address, AddressBook
from tollkeeper.core.keys import Peppers
from tollkeeper.edge.body import BodyReader
from tollkeeper.edge.call_log import CallLog
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.exchange import Receive, Scope, Send
from tollkeeper.edge.lifespan import Stopping, lifespan
from tollkeeper.edge.respond import Gateway, Health
from tollkeeper.edge.routes import ROUTES, RouteTable
from tollkeeper.jobs.close_stale_holds import Sweeper
from tollkeeper.jobs.expire_lots import expire_lots
from tollkeeper.jobs.schedule import Job, run_forever
from tollkeeper.jobs.turn_partitions import turn_partitions
from tollkeeper.ports import AccountDesk, Balances, CatalogDesk, KeyDesk, ProviderAccounts, Upstream
from tollkeeper.providers.http import HttpUpstream
from tollkeeper.providers.openai import OpenAI
from tollkeeper.relay.call import Running
from tollkeeper.relay.count_input import InputCounter
from tollkeeper.relay.dispatch import Dispatcher
from tollkeeper.relay.pipeline import Relay
from tollkeeper.relay.time_limits import TimeLimits
from tollkeeper.settings import Settings, keys_by_version
from tollkeeper.steady import survive
from tollkeeper.storage.accounts import SqlAccountDesk, SqlBalances
from tollkeeper.storage.bookkeeper import Bookkeeper
from tollkeeper.storage.catalog import SqlCatalog, SqlCatalogDesk
from tollkeeper.storage.changes import Changes, Nudges
from tollkeeper.storage.database import Database, Part
from tollkeeper.storage.envelope import EnvelopeKeys
from tollkeeper.storage.keys import SqlKeyDesk, SqlKeys
from tollkeeper.storage.nodes import beat
from tollkeeper.storage.orphans import SqlOrphans
from tollkeeper.storage.provider_accounts import SqlProviderAccounts
from tollkeeper.storage.treasury import SqlTreasury

SIGNAL_CONNECTIONS = 2
BOOKING_CONNECTIONS = 4
# New objects before the youngest of them are looked through for garbage; nearly all are freed long before, by count.
GARBAGE_OBJECTS = 20_000

App = Callable[[Scope, Receive, Send], Awaitable[None]]


def gateway(settings: Settings) -> App:
    """The ASGI application of one worker process."""
    # Three pools, so that a flood of lookups starves neither the books nor the feed that keeps snapshots fresh.
    lookups = _database(settings, Part.GATEWAY)
    signals = _database(settings, Part.GATEWAY, connections=SIGNAL_CONNECTIONS)
    booking = _database(settings, Part.GATEWAY, connections=BOOKING_CONNECTIONS)
    changes = Changes(signals)
    nudges = Nudges(_redis(settings))
    bookkeeper = _bookkeeper(settings, booking)
    call_log = CallLog(sys.stdout.fileno())
    book = _address_book(settings)
    upstream = _upstream(settings)
    relay = Relay(
        keys=SqlKeys(lookups, changes, _peppers(settings), snapshots_most=settings.key_snapshots),
        catalog=SqlCatalog(lookups, changes),
        clock=changes,
        ledger=lambda: bookkeeper.ledger,
        counter=InputCounter(),
        dispatcher=_dispatcher(settings, SqlProviderAccounts(lookups, changes, _envelope_keys(settings)), upstream),
        running=Running(),
        limits=_time_limits(settings),
    )
    services = _services(settings, relay, SqlBalances(lookups))
    stopping = Stopping(relay.running, drain_seconds=settings.drain_seconds)

    def health() -> Health:
        return Health(
            ready=changes.fresh and bookkeeper.ready and not stopping.begun,
            database="ok" if changes.fresh else "out of reach",
            ledger="ok" if bookkeeper.ready else "not begun",
            redis="ok" if nudges.connected else "out of reach, polling instead",
        )

    http = Gateway(services, RouteTable(ROUTES, book), book, call_log, health)

    always = (
        changes.follow,
        lambda: nudges.follow(changes.nudge),
        lambda: beat(signals, settings.node),
        bookkeeper.live,
    )
    stores = (nudges, lookups, signals, booking)
    ends = (upstream.close, bookkeeper.close, *(store.close for store in stores), call_log.close)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(_life([lookups, signals, booking], always, ends), stopping, receive, send)
        else:
            await http(scope, receive, send)

    _warm_up()
    return application


def _warm_up() -> None:
    """Take upon the start what calls would wait for."""
    # The first count loads tables for 0.1 s.
    tokens.count("")
    # What is loaded by now stays; looking through it again and again for garbage took a tenth of every call.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, 20, 50)


def _services(settings: Settings, relay: Relay, balances: Balances) -> Services:
    return Services(
        relay=relay,
        balances=balances,
        bodies=BodyReader(reading_bytes_most=settings.reading_bytes, seconds_most=settings.body_seconds),
        owned_by=settings.provider_domain,
        keep_alive_seconds=settings.keep_alive_seconds,
        loop_mark=_loop_mark(settings),
    )


def _dispatcher(settings: Settings, accounts: ProviderAccounts, upstream: Upstream) -> Dispatcher:
    return Dispatcher(accounts, {"openai": OpenAI()}, upstream, loop_mark=_loop_mark(settings))


def _loop_mark(settings: Settings) -> str:
    """The same on every node of this service, and on no other's."""
    return hmac.digest(settings.peppers.reveal().encode(), b"loop", "sha256").hex()[:32]


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


async def work(settings: Settings) -> None:
    """The jobs beside the calls, until cancelled."""
    async with opened(settings, Part.WORKER) as database:
        bookkeeper = _bookkeeper(settings, database)
        living = asyncio.create_task(bookkeeper.live())
        treasury = SqlTreasury(database)
        orphans = SqlOrphans(database)
        sweeper = Sweeper(orphans, lambda: bookkeeper.ledger, time.monotonic)
        try:
            await run_forever(
                [
                    Job("close_stale_holds", 2, sweeper.sweep),
                    Job("expire_lots", 600, lambda: expire_lots(treasury)),
                    Job("turn_partitions", 3600, lambda: turn_partitions(treasury)),
                ]
            )
        finally:
            living.cancel()
            await asyncio.gather(living, return_exceptions=True)
            await bookkeeper.close()


class Office(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator's commands work with."""

    accounts: AccountDesk
    keys: KeyDesk
    catalog: CatalogDesk
    key_maker: KeyMaker
    actor: str


@asynccontextmanager
async def office(settings: Settings) -> AsyncIterator[Office]:
    """Open the operator's desks for the length of one command."""
    nudges = Nudges(_redis(settings))
    async with opened(settings, Part.CONSOLE) as database:
        try:
            yield Office(
                accounts=SqlAccountDesk(database),
                keys=SqlKeyDesk(database, nudges),
                catalog=SqlCatalogDesk(database, nudges, _envelope_keys(settings)),
                key_maker=KeyMaker(settings.cell, _peppers(settings), secrets.choice),
                actor=f"cli:{getpass.getuser()}",
            )
        finally:
            await nudges.close()


@asynccontextmanager
async def opened(settings: Settings, part: Part) -> AsyncIterator[Database]:
    """A database for the length of one command."""
    database = _database(settings, part)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


def _database(settings: Settings, part: Part, connections: int | None = None) -> Database:
    return Database(
        settings.database_url.reveal(),
        part,
        connections=connections or settings.database_connections,
        patience_seconds=settings.store_patience_seconds,
    )


def _bookkeeper(settings: Settings, database: Database) -> Bookkeeper:
    return Bookkeeper(database, settings.node, settings.journal, patience_seconds=settings.store_patience_seconds)


def _redis(settings: Settings) -> Redis:
    return Redis.from_url(
        settings.redis_url.reveal(),
        socket_timeout=2,
        socket_connect_timeout=2,
        health_check_interval=5,
        client_name="tollkeeper",
    )


def _peppers(settings: Settings) -> Peppers:
    return Peppers(keys_by_version(settings.peppers, least_bytes=32))


def _envelope_keys(settings: Settings) -> EnvelopeKeys:
    return EnvelopeKeys(keys_by_version(settings.envelope_keys, least_bytes=32, most_bytes=32))


def _upstream(settings: Settings) -> HttpUpstream:
    certificates = settings.provider_certificates
    return HttpUpstream(
        connect_seconds=settings.connect_seconds,
        idle_seconds=settings.provider_idle_seconds,
        proxy_url=settings.egress_proxy.reveal() or None,
        root_certificates=Path(certificates).read_bytes() if certificates else None,
    )


def _address_book(settings: Settings) -> AddressBook:
    return AddressBook(
        {
            Address.MAIN: settings.main_hosts,
            Address.BACKUP: settings.backup_hosts,
            Address.BILLING: settings.billing_hosts,
            Address.AGENT: settings.agent_hosts,
        }
    )


def _time_limits(settings: Settings) -> TimeLimits:
    return TimeLimits(
        cut_seconds=settings.cut_seconds,
        longest_seconds=settings.longest_seconds,
        first_byte_seconds=settings.first_byte_seconds,
        idle_seconds=settings.provider_idle_seconds,
    )
