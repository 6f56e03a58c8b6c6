"""Nodes: which are alive, by the database's clock."""

import asyncio
import re
import time
from collections.abc import Sequence

from tollkeeper import __version__
from tollkeeper.ports.house import NodeRecord
from tollkeeper.steady import RepeatedStep
from tollkeeper.storage.postgres.database import Database

HEARTBEAT_EVERY_SECONDS = 5.0

BEAT = """
insert into node (name, version, started_at, secrets) values ($1, $2, now() - make_interval(secs => $3), $4)
on conflict (name) do update
set heartbeat_at = now(), version = excluded.version, started_at = excluded.started_at, secrets = excluded.secrets
"""
# Those that only do jobs are known by their processes alone.
ON_RECORD = """
with heard as (
    select node, count(*) filter (where serves) as serving, count(*) filter (where not serves) as working,
           min(started_at) as started_at, max(heartbeat_at) as heartbeat_at
    from worker
    where ended_at is null and fenced_at is null and heartbeat_at > now() - make_interval(secs => $1)
    group by node
)
select coalesce(n.name, h.node) as name, n.version, coalesce(n.started_at, h.started_at) as started_at,
       greatest(n.heartbeat_at, h.heartbeat_at) as heartbeat_at,
       greatest(n.heartbeat_at, h.heartbeat_at) > now() - make_interval(secs => $1) as is_alive,
       coalesce(h.serving, 0) as serving, coalesce(h.working, 0) as working
from node n full join heard h on h.node = n.name
order by is_alive desc, heartbeat_at desc, name limit $2
"""
NUMBERS = re.compile(r"\d+")
ALIVE_SECONDS = 3 * HEARTBEAT_EVERY_SECONDS
LISTED_MOST = 1_000


async def nodes_on_record(database: Database) -> Sequence[NodeRecord]:
    """Nodes that are alive first, then those that were heard of last."""
    return [NodeRecord(**row) for row in await database.rows(ON_RECORD, ALIVE_SECONDS, LISTED_MOST)]


async def older_nodes(database: Database) -> Sequence[NodeRecord]:
    """Nodes that are alive and of an older version than this process."""
    nodes = await nodes_on_record(database)
    return [node for node in nodes if node.is_alive and node.version is not None and is_older(node.version)]


def is_older(version: str, than: str = __version__) -> bool:
    """By the first three numbers. One that differs in something else, as `0.2.0rc1`, counts as older: it may be."""
    its, own = ([int(number) for number in NUMBERS.findall(each)[:3]] for each in (version, than))
    return its < own or (its == own and version != than)


async def beat(database: Database, node_name: str, secrets_known: Sequence[str] = ()) -> None:
    """Say "alive" again and again, and which secrets are known here, until cancelled. Each beat also cleans the change
    feed of what everybody knows."""

    begun, beating = time.monotonic(), RepeatedStep("heartbeat")

    async def once() -> None:
        await database.row(BEAT, node_name, __version__, time.monotonic() - begun, list(secrets_known))
        await database.row("select trim_changes()")

    while True:
        await beating.run(once)
        await asyncio.sleep(HEARTBEAT_EVERY_SECONDS)
