"""The ledger's clock, moved by hand: everything but heartbeats goes by it, ids of calls included.

The clock of the machine is left alone. Between two moves time runs as it does for everybody.
"""

import time
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
from redis import Redis

from proofs.rig.patience import patience
from tollkeeper.demo.past.moved_clock import MOVABLE
from tollkeeper.storage.postgres.changes import CHANNEL
from tools.node import Node

SEEN_WITHIN_SECONDS = 60.0
# Nodes reckon with the middle of a look's time.
CLOSE_ENOUGH = timedelta(seconds=1)


class Clock:
    def __init__(self, owner: asyncpg.Connection, redis_url: str) -> None:
        self._owner = owner
        self._redis = Redis.from_url(redis_url)

    async def install(self) -> None:
        await self._owner.execute(MOVABLE)

    async def now(self) -> datetime:
        found: datetime = await self._owner.fetchval("select ledger_now()")
        return found.astimezone(UTC)

    async def move(self, by: timedelta, nodes: Sequence[Node]) -> datetime:
        """Move it, and wait until every process that serves calls goes by it."""
        await self._owner.execute("update moved_clock set shift = shift + $1", by)
        moved_to = await self.now()
        given_up_at = time.monotonic() + patience(SEEN_WITHIN_SECONDS)
        while any(_time_of(node) < moved_to - CLOSE_ENOUGH for node in nodes):
            if time.monotonic() > given_up_at:
                raise TimeoutError("a node does not see that the ledger's clock was moved")
            self._redis.publish(CHANNEL, b"")
        return moved_to


def _time_of(node: Node) -> datetime:
    """As the node sees it: its request ids begin with it."""
    with urllib.request.urlopen(f"{node.base}/livez", timeout=patience(10)) as answer:
        return time_of(UUID(answer.headers["x-request-id"]))


def time_of(request_id: UUID) -> datetime:
    return datetime.fromtimestamp((request_id.int >> 80) / 1_000, UTC)
