"""A pair of PostgreSQL servers under Patroni and etcd: when one dies, nobody but Patroni does anything about it."""

import asyncio
import secrets
import time
from typing import Self

import asyncpg

from proofs.faults.fleet.pair import SETTINGS, is_followed, take_all_connections
from proofs.rig.patience import wait_until
from tools.services.patroni import Etcd, Member


class PatroniPair:
    """The `DatabasePair` that looks after itself."""

    def __init__(self) -> None:
        password = secrets.token_hex(16)
        self._etcd = Etcd()
        self._members = [Member(self._etcd, name, password, SETTINGS) for name in ("north", "south")]
        self.primary, self.other = self._members

    def __enter__(self) -> Self:
        self._etcd.start()
        self.primary.start()
        wait_until(lambda: self.primary.says("primary"))
        return self

    def __exit__(self, *_: object) -> None:
        for server in (*self._members, self._etcd):
            server.__exit__()

    @property
    def url(self) -> str:
        return self.primary.url

    @property
    def both(self) -> str:
        first, second = (member.port for member in self._members)
        return self.primary.url.replace(f":{self.primary.port}/", f":{first},127.0.0.1:{second}/")

    def follow(self) -> None:
        """The other one starts, or starts again, and is waited for from now on."""
        self.other.start()
        self.wait_until_followed()

    def wait_until_followed(self) -> None:
        wait_until(lambda: self.primary.is_followed() and asyncio.run(is_followed(self.url)))

    def crash(self) -> None:
        """PostgreSQL ends at once, and Patroni starts it again."""
        self.primary.crash()
        wait_until(lambda: asyncio.run(_takes_writes(self.url)))

    def freeze(self, seconds: float) -> None:
        self.primary.freeze()
        try:
            time.sleep(seconds)
        finally:
            self.primary.thaw()

    def exhaust(self, seconds: float) -> int:
        return asyncio.run(take_all_connections(self.url, seconds))

    def fail_over(self) -> None:
        """The primary dies with its Patroni; the other one takes its place when the lease has run out."""
        self.primary.kill()
        wait_until(lambda: self.other.says("primary") and asyncio.run(_takes_writes(self.other.url)))
        self.primary, self.other = self.other, self.primary


async def _takes_writes(url: str) -> bool:
    """A leader has the lease before it is promoted."""
    try:
        connection = await asyncpg.connect(url)
    except (OSError, asyncpg.PostgresError):
        return False
    try:
        return not await connection.fetchval("select pg_is_in_recovery()")
    finally:
        await connection.close()
