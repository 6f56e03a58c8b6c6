"""Alembic's entry: bring one database to a revision, in one transaction, one migrator at a time.

A lock that calls hold is not waited for long: whoever asks after a migration that waits must wait as well.

Roles are made before (`rights`). Everything is made by the role `tollkeeper_migrations`, so that functions which run
as their owner never run as the login that happened to migrate, be it a superuser.
"""

import asyncio

from alembic import context
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from tollkeeper.storage.postgres.connecting import connect
from tollkeeper.storage.postgres.rights import LOCK

LOCK_SECONDS = 5


def migrate(connection: Connection) -> None:
    context.configure(connection=connection, version_table_schema="tollkeeper")
    with context.begin_transaction():
        connection.execute(text("select pg_advisory_xact_lock(hashtext(:lock))"), {"lock": LOCK})
        connection.execute(text(f"set local lock_timeout = '{LOCK_SECONDS}s'"))
        connection.execute(text("create schema if not exists tollkeeper authorization tollkeeper_migrations"))
        connection.execute(text("set local role tollkeeper_migrations"))
        connection.execute(text("set local search_path = tollkeeper"))
        context.run_migrations()


async def connect_and_migrate() -> None:
    url = context.config.get_main_option("sqlalchemy.url", "")
    # asyncpg reads the address itself: it knows parameters, such as sslmode, that SQLAlchemy would not pass on.
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: connect(url), poolclass=NullPool)
    try:
        async with engine.connect() as connection:
            await connection.run_sync(migrate)
    finally:
        await engine.dispose()


asyncio.run(connect_and_migrate())
