"""Alembic's entry: bring one database to a revision, in one transaction, one migrator at a time.

A lock that calls hold is not waited for long: whoever asks after a migration that waits must wait as well.

Everything is made by the role `tollkeeper_migrations`, so that functions which run as their owner never run as the
login that happened to migrate, be it a superuser.
"""

import asyncio

import asyncpg
from alembic import context
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

LOCK = "tollkeeper.migrate"
LOCK_SECONDS = 5

# Roles belong to the whole cluster: another database, or its administrator, may have made them already.
ROLES = """
do $$
declare
    part text;
begin
    foreach part in array array['migrations', 'gateway', 'console', 'worker'] loop
        if not exists (select from pg_roles where rolname = 'tollkeeper_' || part) then
            begin
                execute format('create role tollkeeper_%s nologin', part);
            exception when duplicate_object or unique_violation then
                null;
            end;
        end if;
    end loop;
    if not pg_has_role(current_user, 'tollkeeper_migrations', 'member') then
        execute format('grant tollkeeper_migrations to %I', current_user);
    end if;
end $$
"""


def migrate(connection: Connection) -> None:
    context.configure(connection=connection, version_table_schema="tollkeeper")
    with context.begin_transaction():
        connection.execute(text("select pg_advisory_xact_lock(hashtext(:lock))"), {"lock": LOCK})
        connection.execute(text(f"set local lock_timeout = '{LOCK_SECONDS}s'"))
        connection.exec_driver_sql(ROLES)
        connection.execute(text("create schema if not exists tollkeeper authorization tollkeeper_migrations"))
        connection.execute(text("set local role tollkeeper_migrations"))
        connection.execute(text("set local search_path = tollkeeper"))
        context.run_migrations()


async def connect_and_migrate() -> None:
    url = context.config.get_main_option("sqlalchemy.url", "")
    # asyncpg reads the address itself: it knows parameters, such as sslmode, that SQLAlchemy would not pass on.
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url), poolclass=NullPool
    )
    try:
        async with engine.connect() as connection:
            await connection.run_sync(migrate)
    finally:
        await engine.dispose()


asyncio.run(connect_and_migrate())
