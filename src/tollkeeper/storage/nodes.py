"""Nodes: which gateways are alive, by the database's clock."""

import asyncio
import time

from tollkeeper import __version__
from tollkeeper.steady import survive
from tollkeeper.storage.database import Database

HEARTBEAT_EVERY_SECONDS = 5.0

BEAT = """
insert into node (name, version, started_at) values ($1, $2, now() - make_interval(secs => $3))
on conflict (name) do update
set heartbeat_at = now(), version = excluded.version, started_at = excluded.started_at
"""


async def beat(database: Database, node_name: str) -> None:
    """Say "alive" again and again, until cancelled. Each beat also cleans the change feed of what everybody knows."""

    begun = time.monotonic()

    async def once() -> None:
        await database.row(BEAT, node_name, __version__, time.monotonic() - begun)
        await database.row("select trim_changes()")

    while True:
        await survive("heartbeat", once)
        await asyncio.sleep(HEARTBEAT_EVERY_SECONDS)
