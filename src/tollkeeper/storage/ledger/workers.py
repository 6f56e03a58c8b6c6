"""Workers: one row for each life of a process that owns holds, kept alive by heartbeats on the database's clock."""

import asyncio

from tollkeeper.ports import HEARTBEAT_SECONDS
from tollkeeper.steady import RepeatedStep, wait_for_event
from tollkeeper.storage.postgres.database import Database

# After a heartbeat that did not reach the database.
RETRY_SECONDS = 1.0

BEAT = """
update worker set heartbeat_at = now() where id = $1 returning fenced_at is not null or ended_at is not null as over
"""


async def register(database: Database, node: str, *, serves: bool = True) -> int:
    """Begin a life; its number is also its epoch. Those that serve share the limits of calls among them."""
    row = await database.row("insert into worker (node, serves) values ($1, $2) returning id", node, serves)
    worker_id: int = row["id"]
    return worker_id


async def beat_until_fenced(database: Database, worker_id: int, refused: asyncio.Event) -> None:
    """Say "alive" again and again: soon once more where that failed, so that no short outage makes a worker silent; and
    at once where a hold was `refused` because this life is over, so that the next one begins."""
    fenced, beating = False, RepeatedStep("worker's heartbeat")

    async def once() -> None:
        nonlocal fenced
        row = await database.row(BEAT, worker_id)
        fenced = row["over"]

    while True:
        was_heard = await beating.run(once)
        if fenced:
            return
        await wait_for_event(refused, HEARTBEAT_SECONDS if was_heard else RETRY_SECONDS)
        refused.clear()


async def end(database: Database, worker_id: int) -> None:
    """End a life in order: every hold of it is closed."""
    await database.row("update worker set ended_at = now() where id = $1", worker_id)
