"""Which server a connection leads to, where an address names several, and how one that vanished is noticed."""

import socket
import time
from collections.abc import Iterator

import asyncpg
import pytest

from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.connecting import UNACKNOWLEDGED_MS, connect, servers_of
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.postgres.trouble import place_of_database
from tools.services.process import free_port

PATIENCE_SECONDS = 10.0


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def beside(settings: Settings, port: int) -> str:
    """The test's database, with another server named before its own."""
    before, _, after = settings.database_url.reveal().partition("@")
    return f"{before}@127.0.0.1:{port},{after}"


def asked(server: socket.socket) -> int:
    """How many connections somebody tried here."""
    found = 0
    while True:
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return found
        found += 1


@pytest.mark.parametrize(
    ("url", "servers"),
    [
        ("postgresql://u:p@h:5432/n", ["postgresql://u:p@h:5432/n"]),
        ("postgresql:///n?host=/a,/b", ["postgresql:///n?host=/a,/b"]),
        ("postgresql://u:a%2Cb@h/n", ["postgresql://u:a%2Cb@h/n"]),
        ("postgres://u@a:1,b:2/n?x=1,2", ["postgres://u@a:1/n?x=1,2", "postgres://u@b:2/n?x=1,2"]),
        ("postgresql://u:p@ss,word@h/n", ["postgresql://u:p@ss,word@h/n"]),
        ("postgresql://[::1]:1,b", ["postgresql://[::1]:1", "postgresql://b"]),
    ],
)
def test_an_address_names_one_server_or_several(url: str, servers: list[str]) -> None:
    assert servers_of(url) == servers


def test_several_servers_are_told_as_commands_take_them() -> None:
    place = place_of_database("postgresql://u:p@a:1,b/n")
    assert (place.server, place.options) == ("a:1 or b:5432", "-h a,b -p 1,5432")
    assert place_of_database("postgresql:///n?host=/a,/b").server == "/a:5432 or /b:5432"


async def test_a_server_that_is_gone_is_passed_over(settings: Settings) -> None:
    connection = await connect(beside(settings, free_port()), timeout=PATIENCE_SECONDS)
    assert await connection.fetchval("select 1") == 1
    await connection.close()


async def test_one_that_says_nothing_takes_its_share_of_the_patience_once(
    settings: Settings, silent: socket.socket
) -> None:
    url, begun = beside(settings, silent.getsockname()[1]), time.monotonic()
    for _ in range(3):
        connection = await connect(url, timeout=PATIENCE_SECONDS)
        await connection.close()
    assert time.monotonic() - begun >= PATIENCE_SECONDS / 2
    assert asked(silent) == 1, "who took writes last is asked first"


async def test_where_none_takes_writes_that_is_said(settings: Settings, owner: asyncpg.Connection) -> None:
    name = await owner.fetchval("select current_database()")
    await owner.execute(f'alter database "{name}" set default_transaction_read_only = on')
    url = beside(settings, int(await owner.fetchval("select inet_server_port()")))
    database = Database(url, DatabaseRole.GATEWAY, connections=1, patience_seconds=PATIENCE_SECONDS)
    await database.open()
    with pytest.raises(StoreUnavailable) as refused:
        await database.row("select 1")
    trouble = database.trouble(refused.value)
    assert trouble is not None
    assert "none of them is the primary" in trouble.told
    assert not trouble.lasts
    await database.close()


async def test_what_waiting_may_mend_is_told_rather_than_what_it_will_not(settings: Settings) -> None:
    """A server that is gone, and one that does not know the database."""
    address = beside(settings, free_port())
    unknown = address[: address.rindex("/")] + "/nowhere"
    with pytest.raises(ConnectionRefusedError):
        await connect(unknown, timeout=PATIENCE_SECONDS)


async def test_a_server_that_takes_no_writes_any_more_is_left(database: Database) -> None:
    async with database.session() as connection:
        before = connection.get_server_pid()
    with pytest.raises(StoreUnavailable):
        async with database.session() as connection, connection.transaction(readonly=True):
            await connection.execute("update job set name = name")
    async with database.session() as connection:
        assert connection.get_server_pid() != before


async def test_the_kernel_watches_over_every_connection(database: Database) -> None:
    async with database.session() as connection:
        own = connection._transport.get_extra_info("socket")
        assert own.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == UNACKNOWLEDGED_MS
