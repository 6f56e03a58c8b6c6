"""Workers: one row for each life of a process that owns holds, kept alive by heartbeats on the database's clock."""

import asyncio

from tollkeeper.ports import HEARTBEAT_SECONDS
from tollkeeper.steady import RepeatedStep
from tollkeeper.storage.postgres.database import Database

BEAT = """
update worker set heartbeat_at = now() where id = $1 returning fenced_at is not null or ended_at is not null as over
"""


async def register(database: Database, node: str, *, serves: bool = True) -> int:
    """Begin a life; its number is also its epoch. Those that serve share the limits of calls among them."""
    row = await database.row("insert into worker (node, serves) values ($1, $2) returning id", node, serves)
    worker_id: int = row["id"]
    return worker_id


async def beat_until_fenced(database: Database, worker_id: int) -> None:
    """Say "alive" again and again."""
    fenced, beating = False, RepeatedStep("worker's heartbeat")

    async def once() -> None:
        nonlocal fenced
        row = await database.row(BEAT, worker_id)
        fenced = row["over"]

    while not fenced:
        await beating.run(once)
        await asyncio.sleep(HEARTBEAT_SECONDS)


async def end(database: Database, worker_id: int) -> None:
    """End a life in order: every hold of it is closed."""
    await database.row("update worker set ended_at = now() where id = $1", worker_id)
