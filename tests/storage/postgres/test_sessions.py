"""Sessions that end in a hurry."""

import asyncio
import os
import signal

import asyncpg
import pytest

from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import Database, DatabaseRole


async def test_a_session_that_is_cancelled_after_its_connection_was_lost_is_cancelled(
    database: Database, owner: asyncpg.Connection
) -> None:
    begun, lost = asyncio.Event(), asyncio.Event()
    backends: list[int] = []

    async def hold_on() -> None:
        async with database.session() as connection:
            backends.append(connection.get_server_pid())
            connection.add_termination_listener(lambda _: lost.set())
            begun.set()
            await asyncio.Event().wait()

    holding = asyncio.create_task(hold_on())
    await begun.wait()
    await owner.execute("select pg_terminate_backend($1)", backends[0])
    await lost.wait()
    holding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holding


async def test_a_transaction_on_a_server_that_froze_ends_in_time(settings: Settings) -> None:
    """Rolling back would wait for the statement that nobody answers."""
    impatient = Database(settings.database_url, DatabaseRole.GATEWAY, connections=1, patience_seconds=0.5)
    await impatient.open()
    frozen: list[int] = []

    async def ask() -> None:
        async with impatient.transaction() as connection:
            frozen.append(connection.get_server_pid())
            os.kill(frozen[0], signal.SIGSTOP)
            await connection.execute("select 1")

    try:
        async with asyncio.timeout(10):
            with pytest.raises(StoreUnavailable):
                await ask()
    finally:
        os.kill(frozen[0], signal.SIGCONT)
    await impatient.close()


@pytest.mark.parametrize("fails", [True, False])
async def test_a_transaction_is_taken_back_where_it_fails(
    database: Database, owner: asyncpg.Connection, *, fails: bool
) -> None:
    await owner.execute("create table scratch (one int); grant insert on scratch to public")
    try:
        async with database.transaction() as connection:
            await connection.execute("insert into tollkeeper.scratch values (1)")
            if fails:
                raise LookupError
    except LookupError:
        assert fails
    assert await owner.fetchval("select count(*) from scratch") == (0 if fails else 1)
