"""Workers: one row for each life of a process that owns holds, kept alive by heartbeats on the database's clock."""

import asyncio
import logging

from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.storage.database import Database

HEARTBEAT_SECONDS = 5.0

log = logging.getLogger(__name__)


async def register(database: Database, node: str) -> int:
    """Begin a life; its number is also its epoch."""
    row = await database.row("insert into worker (node) values ($1) returning id", node)
    worker_id: int = row["id"]
    return worker_id


async def beat_until_fenced(database: Database, worker_id: int) -> None:
    """Say "alive" again and again."""
    while True:
        try:
            row = await database.row(
                "update worker set heartbeat_at = now() where id = $1 returning fenced_at", worker_id
            )
        except StoreUnavailable:
            log.warning("heartbeat not written: the database is out of reach")
        else:
            if row["fenced_at"] is not None:
                return
        await asyncio.sleep(HEARTBEAT_SECONDS)


async def end(database: Database, worker_id: int) -> None:
    """End a life in order: every hold of it is closed."""
    await database.row("update worker set ended_at = now() where id = $1", worker_id)
