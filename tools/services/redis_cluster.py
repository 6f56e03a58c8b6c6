"""A Redis Cluster of our own: three masters that share the slots, without replicas."""

import itertools
import secrets
from contextlib import ExitStack
from typing import Self

from tollkeeper.demo.servers.redis import Redis
from tools.services.process import free_port, wait_until

MASTERS = 3
SLOTS = 16_384
OPTIONS = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")


class RedisCluster:
    def __init__(self) -> None:
        # The usual port of the cluster's bus is 10,000 above the server's own, which may be no port at all.
        self._bus_ports = [free_port() for _ in range(MASTERS)]
        self._password = secrets.token_hex(16)
        self.masters = [
            Redis(*OPTIONS, "--cluster-port", str(port), password=self._password) for port in self._bus_ports
        ]
        self._started = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for master in self.masters:
                stack.enter_context(master)
            self._join()
            self._started = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._started.close()

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{master.port}" for master in self.masters)
        return f"redis+cluster://:{self._password}@{hosts}"

    def _join(self) -> None:
        edges = [SLOTS * number // MASTERS for number in range(MASTERS + 1)]
        for master, (first, after) in zip(self.masters, itertools.pairwise(edges), strict=True):
            master.ask("CLUSTER", "ADDSLOTSRANGE", first, after - 1)
        for master, bus_port in zip(self.masters[1:], self._bus_ports[1:], strict=True):
            self.masters[0].ask("CLUSTER", "MEET", "127.0.0.1", master.port, bus_port)
        wait_until(lambda: all(map(_knows_all, self.masters)))


def _knows_all(master: Redis) -> bool:
    told = master.ask("CLUSTER", "INFO")
    return "cluster_state:ok" in told and f"cluster_known_nodes:{MASTERS}" in told
