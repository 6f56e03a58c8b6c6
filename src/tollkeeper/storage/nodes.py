"""Nodes: which gateways are alive, by the database's clock."""

import asyncio
import logging

from tollkeeper import __version__
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.storage.database import Database

HEARTBEAT_EVERY_SECONDS = 5.0

BEAT = """
insert into node (name, version) values ($1, $2)
on conflict (name) do update set heartbeat_at = now(), version = excluded.version
"""

log = logging.getLogger(__name__)


async def beat(database: Database, node_name: str) -> None:
    """Say "alive" again and again, until cancelled."""
    while True:
        try:
            await database.row(BEAT, node_name, __version__)
        except StoreUnavailable:
            log.warning("heartbeat not written: the database is out of reach")
        await asyncio.sleep(HEARTBEAT_EVERY_SECONDS)
