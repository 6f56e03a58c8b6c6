"""A PostgreSQL primary with a synchronous standby: crashed, frozen, failed over, and a pair again after each.

Rules of this file
1. What the primary acknowledged, the standby has on its disk.
2. Both addresses stay what they are: the new standby listens where the dead primary did.
"""

import asyncio
import time
from typing import Protocol, Self

import asyncpg

from proofs.rig.patience import wait_until
from tools.services import Postgres
from tools.services.standby import Standby, wait_for_standby

# Every worker has three pools, and new ones begin beside several generations whose calls end.
SETTINGS = {"max_connections": "240", "shared_buffers": "64MB", "wal_retrieve_retry_interval": "500ms"}

# How the connections of `exhaust` are known from everybody else's.
OTHERS = "others"
END_ALL_BUT = """
select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and application_name <> $1
"""


class DatabasePair(Protocol):
    """Two servers, and what a fault can do to the one that takes writes."""

    @property
    def url(self) -> str:
        """Of the books, where they are written now."""

    @property
    def both(self) -> str:
        """The address for nodes: one server after the other, whichever takes writes."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def follow(self) -> None: ...

    def crash(self) -> None: ...

    def fail_over(self) -> None: ...

    def freeze(self, seconds: float) -> None: ...

    def exhaust(self, seconds: float) -> int: ...

    def wait_until_followed(self) -> None: ...


class Pair:
    """The `DatabasePair` whose standby is promoted by whoever made the primary fail."""

    def __init__(self) -> None:
        self.primary: Postgres = Postgres(durable=True, settings=SETTINGS)
        self.standby: Standby | None = None
        self._other_port = 0

    def __enter__(self) -> Self:
        self.primary.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        for server in (self.standby, self.primary):
            if server is not None:
                server.__exit__()

    @property
    def url(self) -> str:
        return self.primary.url

    @property
    def both(self) -> str:
        assert self.standby is not None
        first, second = sorted((self.primary.port, self.standby.port))
        return self.primary.url.replace(f":{self.primary.port}/", f":{first},127.0.0.1:{second}/")

    def follow(self) -> None:
        """A standby for the primary, which waits for it from now on."""
        self.standby = Standby(self.primary, settings=SETTINGS)
        self.standby.port = self._other_port or self.standby.port
        self.standby.start()
        asyncio.run(wait_for_standby(self.primary))

    def crash(self) -> None:
        """An immediate shutdown, and a start that recovers from the log."""
        self.primary.crash()
        self.primary.start()

    def fail_over(self) -> None:
        """The primary is gone with its files, the standby takes its place. Nobody follows it until `follow`."""
        assert self.standby is not None
        dead, self._other_port = self.primary, self.primary.port
        dead.crash()
        self.standby.promote()
        self.primary, self.standby = self.standby, None
        dead.__exit__()

    def freeze(self, seconds: float) -> None:
        self.primary.freeze()
        try:
            time.sleep(seconds)
        finally:
            self.primary.thaw()

    def exhaust(self, seconds: float) -> int:
        """Others take every connection that is free; how many that were."""
        return asyncio.run(take_all_connections(self.primary.url, seconds))

    def wait_until_followed(self) -> None:
        """After a crash the standby has to find its primary again."""
        wait_until(lambda: asyncio.run(is_followed(self.url)))


async def take_all_connections(url: str, seconds: float) -> int:
    own: list[asyncpg.Connection] = []
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            try:
                own.append(await asyncpg.connect(url, server_settings={"application_name": OTHERS}))
            except asyncpg.TooManyConnectionsError:
                # Those that nodes have already are taken, too.
                await own[0].execute(END_ALL_BUT, OTHERS)
                await asyncio.sleep(0.05)
    finally:
        for connection in own:
            connection.terminate()
    return len(own)


async def is_followed(url: str) -> bool:
    """Whether this server waits for another one with all that it acknowledges."""
    connection = await asyncpg.connect(url)
    try:
        return bool(await connection.fetchval("select count(*) from pg_stat_replication where sync_state = 'sync'"))
    finally:
        await connection.close()
