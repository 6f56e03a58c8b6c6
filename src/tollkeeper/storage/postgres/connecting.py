"""A connection to PostgreSQL: to the one server, or to the one of several that takes writes.

Rules of this file
1. Of several servers, the one that took writes last is asked first, and none is waited for so long that there is no
   time left for the others.
2. A server that vanished without a word (a broken network, a machine that lost its power) is noticed by the kernel,
   whether a statement is under way or not. One that is merely slow is not given up by that, as long as its machine
   takes what is sent.
3. Where none will have us, what waiting may mend is told rather than what it will not, and either rather than that one
   of them only reads.
"""

import asyncio
import re
import socket
from typing import Any

import asyncpg

# Scheme and login, the servers, and the rest.
ADDRESS = re.compile(r"(\w+://(?:[^/?]*@)?)([^/?@]*)(.*)", re.DOTALL)
# What a server must be to take writes, where there are several.
WRITABLE = "read-write"
# A connection without traffic is tried after so long, then so often: ended after some 9 s without an answer.
KEPT_ALIVE = ((socket.TCP_KEEPIDLE, 3), (socket.TCP_KEEPINTVL, 2), (socket.TCP_KEEPCNT, 3))
# What was sent and is not even acknowledged after this long never will be.
UNACKNOWLEDGED_MS = 8_000

# Of SQLSTATE: connections, resources, somebody who stops or starts the server.
PASSING_CLASSES = {"08", "53", "57"}

# By address, the server that took writes last.
_took_writes: dict[str, str] = {}


def servers_of(url: str) -> list[str]:
    """The same address with each of its servers alone, in order."""
    found = ADDRESS.fullmatch(url)
    if found is None or "," not in found[2]:
        return [url]
    return [f"{found[1]}{server}{found[3]}" for server in found[2].split(",")]


async def connect(url: str, *, timeout: float = 60.0, **options: Any) -> asyncpg.Connection:  # noqa: ASYNC109 (a pool says it so)
    """Raise what is most worth telling of what they raised."""
    servers = servers_of(url)
    if len(servers) == 1:
        return _watched(await asyncpg.connect(url, timeout=timeout, **options))
    servers.sort(key=lambda server: server != _took_writes.get(url))
    problems: list[Exception] = []
    async with asyncio.timeout(timeout):
        for server in servers:
            try:
                connection = await asyncpg.connect(
                    server, timeout=timeout / len(servers), target_session_attrs=WRITABLE, **options
                )
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as failed:
                problems.append(failed)
            else:
                _took_writes[url] = server
                return _watched(connection)
    raise min(problems, key=_how_lasting)


def _how_lasting(problem: Exception) -> int:
    if isinstance(problem, asyncpg.TargetServerAttributeNotMatched):
        return 2
    state = problem.sqlstate or "" if isinstance(problem, asyncpg.PostgresError) else ""
    return 0 if isinstance(problem, OSError) or state[:2] in PASSING_CLASSES else 1


def _watched(connection: asyncpg.Connection) -> asyncpg.Connection:
    # asyncpg has no other way to its socket.
    own: socket.socket = connection._transport.get_extra_info("socket")  # noqa: SLF001
    # It may be lost again by now: whoever uses it will notice.
    if own.fileno() >= 0 and own.family != socket.AF_UNIX:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEPT_ALIVE:
            own.setsockopt(socket.IPPROTO_TCP, option, value)
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS)
    return connection
