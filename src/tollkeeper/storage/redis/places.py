"""Where Redis is: one server, the master that Sentinel knows, or the servers of a Cluster."""

import itertools
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
from redis.asyncio import Redis
from redis.asyncio.sentinel import Sentinel
from redis.connection import parse_url
from redis.crc import REDIS_CLUSTER_HASH_SLOTS
from redis.exceptions import RedisError

PATIENCE_SECONDS = 2.0


class Mode(StrEnum):
    SINGLE = "single"
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


class RedisServer(msgspec.Struct, frozen=True, kw_only=True):
    """One server, and how to be let in."""

    host: str = ""
    port: int = 0
    path: str | None = None
    tls: bool = False
    username: str | None = None
    password: str | None = None
    database: int = 0


class Shard(msgspec.Struct, frozen=True):
    """A server of a Cluster, and the slots it has."""

    place: RedisServer
    slots: tuple[tuple[int, int], ...]


class RedisPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """What the address in the settings says."""

    mode: Mode
    # The server itself, a Sentinel's, or any of the Cluster's.
    seeds: tuple[RedisServer, ...]
    service: str = ""
    database: int = 0

    async def shards(self) -> Sequence[Shard]:
        """Who has which slots just now; without a Cluster one server has them all. Raise OSError."""
        everything = ((0, REDIS_CLUSTER_HASH_SLOTS - 1),)
        if self.mode is Mode.SINGLE:
            return [Shard(self.seeds[0], everything)]
        try:
            if self.mode is Mode.SENTINEL:
                return [Shard(await self._ask_sentinel(), everything)]
            return await self._ask_cluster()
        except RedisError as problem:
            raise ConnectionError(str(problem)) from problem

    def clients(self) -> Callable[[], Redis]:
        """What makes a client of the usual kind, for news; in a Cluster of one server after another."""
        if self.mode is Mode.SENTINEL:
            sentinel = self._sentinel()
            return lambda: sentinel.master_for(self.service, db=self.database, **_MANNERS)
        seeds = itertools.cycle(self.seeds)
        return lambda: client_of(next(seeds))

    def _sentinel(self) -> Sentinel:
        seed = self.seeds[0]
        hosts = [(place.host, place.port) for place in self.seeds]
        return Sentinel(  # type: ignore[no-untyped-call]
            hosts,
            sentinel_kwargs={"socket_timeout": PATIENCE_SECONDS, "ssl": seed.tls},
            ssl=seed.tls,
            username=seed.username,
            password=seed.password,
        )

    async def _ask_sentinel(self) -> RedisServer:
        sentinel = self._sentinel()
        try:
            host, port = await sentinel.discover_master(self.service)
        finally:
            for client in sentinel.sentinels:
                await client.aclose()
        return msgspec.structs.replace(self.seeds[0], host=host, port=port, database=self.database)

    async def _ask_cluster(self) -> Sequence[Shard]:
        problem: Exception = ConnectionError("no server of the cluster answers")
        for seed in self.seeds:
            client = client_of(seed)
            try:
                found = await client.execute_command("CLUSTER SLOTS")  # type: ignore[no-untyped-call]
                return _shards(seed, found)
            except (RedisError, OSError, TimeoutError) as away:
                problem = away
            finally:
                await client.aclose()
        raise ConnectionError(str(problem))


_MANNERS: dict[str, Any] = {
    "socket_timeout": PATIENCE_SECONDS,
    "socket_connect_timeout": PATIENCE_SECONDS,
    "health_check_interval": 5,
    "client_name": "tollkeeper",
}


def places_of(url: str) -> RedisPlaces:
    scheme, _, rest = url.partition("://")
    kind, plus, family = scheme.partition("+")
    if not plus:
        return RedisPlaces(mode=Mode.SINGLE, seeds=(_single(url),))
    credentials, _, rest = rest.rpartition("@")
    hosts, _, path = rest.partition("/")
    username, _, password = credentials.partition(":")
    seeds = tuple(
        RedisServer(
            host=host.rpartition(":")[0].strip("[]"),
            port=int(host.rpartition(":")[2]),
            tls=kind == "rediss",
            username=unquote(username) or None,
            password=unquote(password) or None,
        )
        for host in hosts.split(",")
    )
    service, _, database = path.partition("/")
    return RedisPlaces(mode=Mode(family), seeds=seeds, service=service, database=int(database or 0))


def _single(url: str) -> RedisServer:
    found = parse_url(url)  # type: ignore[no-untyped-call]
    return RedisServer(
        host=found.get("host", "localhost"),
        port=found.get("port", 6379),
        path=found.get("path"),
        tls=urlsplit(url).scheme == "rediss",
        username=found.get("username"),
        password=found.get("password"),
        database=found.get("db", 0),
    )


def client_of(place: RedisServer) -> Redis:
    at_host = {"host": place.host, "port": place.port}
    where: dict[str, Any] = {"unix_socket_path": place.path} if place.path else at_host
    return Redis(
        **where,
        ssl=place.tls,
        username=place.username,
        password=place.password,
        db=place.database,
        **_MANNERS,
    )


def _shards(seed: RedisServer, found: Sequence[Sequence[Any]]) -> list[Shard]:
    by_server: dict[RedisServer, list[tuple[int, int]]] = {}
    for first, last, master, *_ in found:
        host, port = master[0], master[1]
        name = (host.decode() if isinstance(host, bytes) else str(host)) or seed.host
        place = msgspec.structs.replace(seed, host=name, port=int(port))
        by_server.setdefault(place, []).append((int(first), int(last)))
    return [Shard(place, tuple(slots)) for place, slots in by_server.items()]
