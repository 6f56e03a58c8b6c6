"""A pair of PostgreSQL servers under Patroni and etcd: when one dies, nobody but Patroni does anything about it."""

import asyncio
import secrets
import time
from typing import Self

import asyncpg

from proofs.faults.fleet.pair import SETTINGS, is_followed, take_all_connections
from proofs.rig.patience import wait_until
from proofs.rig.proof import say
from tools.services.far_host import FarHost
from tools.services.patroni import Etcd, FarMember, Member


class PatroniPair:
    """The `DatabasePair` that looks after itself."""

    def __init__(self, far: FarHost | None = None) -> None:
        """`far`: the host of the one that leads at first, if it has one of its own; it is started already."""
        self._far = far
        password = secrets.token_hex(16)
        self._etcd = Etcd() if far is None else Etcd(far.near)
        north = (self._etcd, "north", password, SETTINGS)
        self.primary = Member(*north) if far is None else FarMember(far, *north)
        self.other = Member(self._etcd, "south", password, SETTINGS)
        self._members = [self.primary, self.other]

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
        own = f"{self.primary.host}:{self.primary.port}"
        return self.primary.url.replace(own, ",".join(f"{member.host}:{member.port}" for member in self._members))

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

    def cut_leader_off(self, seconds: float) -> None:
        """The host of the one that leads is cut off, for so long: the other one leads before it is back, and after."""
        assert self._far is not None
        self._far.cut()
        try:
            until = time.monotonic() + seconds
            wait_until(lambda: self.other.says("primary") and asyncio.run(_takes_writes(self.other.url)))
            say(f"the other one leads {time.monotonic() - until + seconds:.0f} s after the cut")
            time.sleep(max(0.0, until - time.monotonic()))
        finally:
            self._far.mend()
        self.primary, self.other = self.other, self.primary
        self.wait_until_followed()


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
