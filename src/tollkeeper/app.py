"""The composition root: the only file that names concrete adapters."""

import asyncio
import getpass
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
from redis.asyncio import Redis

from tollkeeper.accounts.keys import KeyMaker
from tollkeeper.core.addresses import Address, AddressBook
from tollkeeper.core.keys import Peppers
from tollkeeper.edge.body import BodyReader
from tollkeeper.edge.call_log import CallLog
from tollkeeper.edge.endpoints import Services
from tollkeeper.edge.exchange import Receive, Scope, Send
from tollkeeper.edge.lifespan import lifespan
from tollkeeper.edge.respond import Gateway, Health
from tollkeeper.edge.routes import ROUTES, RouteTable
from tollkeeper.ports import AccountDesk, CatalogDesk, KeyDesk
from tollkeeper.settings import Settings, keys_by_version
from tollkeeper.storage.accounts import SqlAccountDesk, SqlBalances
from tollkeeper.storage.catalog import SqlCatalog, SqlCatalogDesk
from tollkeeper.storage.changes import Changes, Nudges
from tollkeeper.storage.database import Database, Part
from tollkeeper.storage.envelope import EnvelopeKeys
from tollkeeper.storage.keys import SqlKeyDesk, SqlKeys
from tollkeeper.storage.nodes import beat

App = Callable[[Scope, Receive, Send], Awaitable[None]]


def gateway(settings: Settings) -> App:
    """The ASGI application of one worker process."""
    database = _database(settings, Part.GATEWAY)
    changes = Changes(database)
    nudges = Nudges(_redis(settings))
    call_log = CallLog(sys.stdout.fileno())
    book = AddressBook(
        {
            Address.MAIN: settings.main_hosts,
            Address.BACKUP: settings.backup_hosts,
            Address.BILLING: settings.billing_hosts,
            Address.AGENT: settings.agent_hosts,
        }
    )
    services = Services(
        keys=SqlKeys(database, changes, _peppers(settings), snapshots_most=settings.key_snapshots),
        catalog=SqlCatalog(database, changes),
        balances=SqlBalances(database),
        clock=changes,
        bodies=BodyReader(reading_bytes_most=settings.reading_bytes, seconds_most=settings.body_seconds),
        owned_by=settings.provider_domain,
    )

    def health() -> Health:
        database_state = "ok" if changes.fresh else "out of reach"
        return Health(changes.fresh, database_state, "ok" if nudges.connected else "out of reach, polling instead")

    @asynccontextmanager
    async def life() -> AsyncIterator[None]:
        await database.open()
        always = [changes.follow(), nudges.follow(changes.nudge), beat(database, settings.node)]
        tasks = [asyncio.create_task(work) for work in always]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await nudges.close()
            await database.close()
            await call_log.close()

    http = Gateway(services, RouteTable(ROUTES, book), book, call_log, health)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(life(), receive, send)
        else:
            await http(scope, receive, send)

    return application


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
                catalog=SqlCatalogDesk(
                    database,
                    nudges,
                    EnvelopeKeys(keys_by_version(settings.envelope_keys, least_bytes=32, most_bytes=32)),
                ),
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


def _database(settings: Settings, part: Part) -> Database:
    return Database(
        settings.database_url,
        part,
        connections=settings.database_connections,
        patience_seconds=settings.store_patience_seconds,
    )


def _redis(settings: Settings) -> Redis:
    return Redis.from_url(
        settings.redis_url,
        socket_timeout=2,
        socket_connect_timeout=2,
        health_check_interval=5,
        client_name="tollkeeper",
    )


def _peppers(settings: Settings) -> Peppers:
    return Peppers(keys_by_version(settings.peppers, least_bytes=32))
