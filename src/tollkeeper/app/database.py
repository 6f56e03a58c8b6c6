"""The database, opened by the settings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import Database, DatabaseRole


def database_of(settings: Settings, part: DatabaseRole, connections: int | None = None) -> Database:
    return Database(
        settings.database_url.reveal(),
        part,
        connections=connections or settings.database_connections,
        patience_seconds=settings.store_patience_seconds,
    )


@asynccontextmanager
async def opened(settings: Settings, part: DatabaseRole) -> AsyncIterator[Database]:
    """A database for the length of one command."""
    database = database_of(settings, part)
    await database.open()
    try:
        yield database
    finally:
        await database.close()
