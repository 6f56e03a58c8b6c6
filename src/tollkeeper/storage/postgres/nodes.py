"""Nodes: which gateways are alive, by the database's clock."""

import asyncio
import time
from collections.abc import Sequence

from tollkeeper import __version__
from tollkeeper.steady import run_and_log
from tollkeeper.storage.postgres.database import Database

HEARTBEAT_EVERY_SECONDS = 5.0

BEAT = """
insert into node (name, version, started_at, secrets) values ($1, $2, now() - make_interval(secs => $3), $4)
on conflict (name) do update
set heartbeat_at = now(), version = excluded.version, started_at = excluded.started_at, secrets = excluded.secrets
"""


async def beat(database: Database, node_name: str, secrets_known: Sequence[str] = ()) -> None:
    """Say "alive" again and again, and which secrets are known here, until cancelled. Each beat also cleans the change
    feed of what everybody knows."""

    begun = time.monotonic()

    async def once() -> None:
        await database.row(BEAT, node_name, __version__, time.monotonic() - begun, list(secrets_known))
        await database.row("select trim_changes()")

    while True:
        await run_and_log("heartbeat", once)
        await asyncio.sleep(HEARTBEAT_EVERY_SECONDS)
