"""The stores of the demo and of the tests let nobody else on the machine in, and have no rights of root."""

import os
import pwd
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest
import redis

from tools.services import Postgres, Redis
from tools.services.process import Server


def groups_of(server: Server) -> set[int]:
    """The groups of every process of a server."""
    found: set[int] = set()
    for pid in server.pids():
        # PostgreSQL begins and ends workers at any time.
        with suppress(FileNotFoundError, ProcessLookupError):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                name, _, numbers = line.partition(":")
                if name in {"Gid", "Groups"}:
                    found.update(map(int, numbers.split()))
    return found


async def test_postgres_asks_everybody_for_the_password() -> None:
    with Postgres() as postgres:
        for url in (postgres.url.replace(f":{postgres.password}", ""), postgres.url.replace(postgres.password, "x")):
            with pytest.raises((asyncpg.InvalidPasswordError, asyncpg.InterfaceError)):
                await asyncpg.connect(url)
        await (await asyncpg.connect(postgres.url)).close()
        if os.geteuid() == 0:
            assert groups_of(postgres) == {pwd.getpwnam(str(postgres.user)).pw_gid}


def test_redis_asks_everybody_for_the_password() -> None:
    with Redis() as server, redis.Redis(port=server.port) as stranger, redis.Redis.from_url(server.url) as friend:
        with pytest.raises(redis.AuthenticationError):
            stranger.ping()
        assert friend.ping()
        assert server.password not in " ".join(server.command())
        if os.geteuid() == 0:
            assert groups_of(server) == {pwd.getpwnam(str(server.user)).pw_gid}
