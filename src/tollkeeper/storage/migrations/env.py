"""Alembic's entry: bring one database to the newest schema, in one transaction, one migrator at a time."""

import asyncio

from alembic import context
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

LOCK = "tollkeeper.migrate"


def migrate(connection: Connection) -> None:
    context.configure(connection=connection, version_table_schema="tollkeeper")
    with context.begin_transaction():
        connection.execute(text("select pg_advisory_xact_lock(hashtext(:lock))"), {"lock": LOCK})
        connection.execute(text("create schema if not exists tollkeeper"))
        connection.execute(text("set local search_path = tollkeeper"))
        context.run_migrations()


async def connect_and_migrate() -> None:
    engine = create_async_engine(context.config.get_main_option("sqlalchemy.url", ""), poolclass=NullPool)
    try:
        async with engine.connect() as connection:
            await connection.run_sync(migrate)
    finally:
        await engine.dispose()


asyncio.run(connect_and_migrate())
