"""A Redis that Sentinel watches over: a master, its replica, and three sentinels of whom two must agree."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Self

from tollkeeper.demo.servers.redis import Redis
from tools.services.far_host import FarHost, FarRedis
from tools.services.process import wait_until

SERVICE = "mymaster"
SENTINELS = 3
QUORUM = 2
DOWN_AFTER_MS = 1_000
# A sentinel that stood still for two seconds trusts nobody, itself included, for half a minute.
FAILOVER_WITHIN_SECONDS = 120.0


class Sentinel(Redis):
    name = "sentinel"

    def __init__(self, master: Redis, host: str) -> None:
        # Sentinels tell everybody on this machine where the master is; to ask it, one must know its password.
        super().__init__(password="")
        self.host = host
        # A sentinel keeps what it learns in its configuration file.
        self._write(
            "sentinel.conf",
            f"port {self.port}\nbind {host}\ndir {self.folder}\n"
            f"sentinel monitor {SERVICE} {master.host} {master.port} {QUORUM}\n"
            f"sentinel auth-pass {SERVICE} {master.password}\n"
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}\n"
            f"sentinel failover-timeout {SERVICE} 5000\n",
        )

    def command(self) -> Sequence[str]:
        return ["redis-server", str(self.folder / "sentinel.conf"), "--sentinel"]

    def master_port(self) -> int:
        [_, port] = self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
        return int(port)

    def knows_all(self) -> bool:
        answer = self.ask("SENTINEL", "MASTER", SERVICE)
        told = dict(zip(answer[::2], answer[1::2], strict=True))
        return bool(told["num-slaves"] == "1" and told["num-other-sentinels"] == str(SENTINELS - 1))


class RedisSentinel:
    def __init__(self, far: FarHost | None = None) -> None:
        """`far`: the host on which the master begins, if it has one of its own."""
        self.far = far
        host = Redis.host if far is None else far.near
        self.master = Redis() if far is None else FarRedis(far)
        follows = ("--replicaof", self.master.host, str(self.master.port))
        self.replica = Redis(*follows, password=self.master.password)
        self.replica.host = host
        self.sentinels = [Sentinel(self.master, host) for _ in range(SENTINELS)]
        self._started = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            if self.far is not None:
                stack.enter_context(self.far)
            stack.enter_context(self.master)
            stack.enter_context(self.replica)
            # Sentinels ask a master for its replicas every ten seconds, the first time at once.
            wait_until(lambda: self.replica.ask("ROLE")[3] == "connected")
            for sentinel in self.sentinels:
                stack.enter_context(sentinel)
            wait_until(lambda: all(sentinel.knows_all() for sentinel in self.sentinels))
            self._started = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._started.close()

    @property
    def url(self) -> str:
        hosts = ",".join(f"{sentinel.host}:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://:{self.master.password}@{hosts}/{SERVICE}"

    def kill_master(self) -> None:
        """As kill -9 would."""
        self.master.kill()

    def wait_for_failover(self) -> None:
        """Until the replica is the master, and every sentinel says so."""
        wait_until(self._has_failed_over, within_seconds=FAILOVER_WITHIN_SECONDS)

    def _has_failed_over(self) -> bool:
        named = {sentinel.master_port() for sentinel in self.sentinels}
        return named == {self.replica.port} and self.replica.ask("ROLE")[0] == "master"
