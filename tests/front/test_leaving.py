"""A front that stops: callers between requests are let go, and every request that has begun is answered."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tollkeeper.front import Door, DoorLimits, GatewayAddress
from tools.certificate import write_certificate
from tools.services.process import wait_until_async

LIMITS = DoorLimits(connections=10, connections_per_ip=10, head_seconds=30)
# Nobody waits for it.
LONG_SECONDS = 600.0
REQUEST = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
STREAM = b"POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
HELLO = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
GOODBYE = b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\ngoodbye"
BEGUN = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n0\r\n\r\n\r\n"
ENDED = b"3\r\nend\r\n0\r\n\r\n"
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Gateway:
    """Keeps connections unless a request says otherwise; the end of a stream is said by the test."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.may_end = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heard.append(head)
                if head.startswith(b"POST /stream "):
                    await reader.readexactly(2)
                    writer.write(BEGUN)
                    await self.may_end.wait()
                    writer.write(ENDED)
                else:
                    writer.write(GOODBYE if b"\r\nConnection: close\r\n" in head else HELLO)
                if b"\r\nConnection: close\r\n" in head:
                    return
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


class House:
    def __init__(self, gateway: Gateway, door: Door, port: int) -> None:
        self.gateway = gateway
        self.door = door
        self.port = port
        self.tls: ssl.SSLContext | None = None
        self.callers: list[Connection] = []

    async def connected(self) -> Connection:
        name = "localhost" if self.tls else None
        self.callers.append(await asyncio.open_connection("127.0.0.1", self.port, ssl=self.tls, server_hostname=name))
        return self.callers[-1]

    async def kept(self) -> Connection:
        """A connection that has had an answer."""
        caller = await self.connected()
        await ask(caller, HELLO)
        return caller


async def ask(caller: Connection, wanted: bytes, request: bytes = REQUEST) -> None:
    caller[1].write(request)
    await hear(caller, wanted)


async def hear(caller: Connection, wanted: bytes) -> None:
    async with asyncio.timeout(20):
        assert await caller[0].readexactly(len(wanted)) == wanted


async def is_hung_up(caller: Connection) -> bool:
    async with asyncio.timeout(20):
        return await caller[0].read(1) == b""


@asynccontextmanager
async def a_house(certificate: str = "") -> AsyncIterator[House]:
    gateway = Gateway()
    async with await asyncio.start_server(gateway.serve, "127.0.0.1", 0) as behind:
        door = Door(GatewayAddress("127.0.0.1", behind.sockets[0].getsockname()[1]), LIMITS)
        server = await door.open("127.0.0.1", 0, certificate)
        house = House(gateway, door, server.sockets[0].getsockname()[1])
        yield house
        for _, writer in house.callers:
            writer.close()
        server.close()
        async with asyncio.timeout(20):
            await door.wait_until_empty()


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with a_house() as house:
        yield house


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tollkeeper.front.door.KEPT_SECONDS", 0.0)


async def test_in_the_lame_duck_time_the_next_answer_is_the_last(house: House) -> None:
    caller = await house.kept()
    house.door.is_leaving = True
    await ask(caller, GOODBYE)
    assert await is_hung_up(caller)


async def test_in_the_lame_duck_time_nobody_is_hung_up(house: House, at_once: None) -> None:
    caller = await house.connected()
    await ask(caller, BEGUN, STREAM)
    house.door.is_leaving = True
    house.gateway.may_end.set()
    await hear(caller, ENDED)
    await ask(caller, GOODBYE)


async def test_callers_between_requests_are_let_go_and_nobody_else(house: House, at_once: None) -> None:
    idle, listening, sending = await house.kept(), await house.kept(), await house.kept()
    await ask(listening, BEGUN, STREAM)
    sending[1].write(REQUEST[:20])
    await sending[1].drain()
    draining = asyncio.create_task(house.door.drain(LONG_SECONDS))
    assert await is_hung_up(idle)
    await ask(sending, GOODBYE, REQUEST[20:])
    assert await is_hung_up(sending)
    assert not draining.done()
    house.gateway.may_end.set()
    await hear(listening, ENDED)
    assert await is_hung_up(listening)
    async with asyncio.timeout(20):
        await draining


async def test_who_asks_again_at_once_is_served_and_told(house: House) -> None:
    caller = await house.kept()
    draining = asyncio.create_task(house.door.drain(LONG_SECONDS))
    await asyncio.sleep(0)
    await ask(caller, GOODBYE)
    async with asyncio.timeout(20):
        await draining


async def test_who_asks_again_after_a_stream_is_served_and_told(house: House) -> None:
    caller = await house.connected()
    await ask(caller, BEGUN, STREAM)
    draining = asyncio.create_task(house.door.drain(LONG_SECONDS))
    await asyncio.sleep(0)
    house.gateway.may_end.set()
    await hear(caller, ENDED)
    await ask(caller, GOODBYE)
    async with asyncio.timeout(20):
        await draining


async def test_a_request_that_has_arrived_unread_is_served(house: House, at_once: None) -> None:
    caller = await house.kept()
    house.door.is_leaving = True
    # Past the loop, so that the front cannot have read it: on this machine it is there when the call returns.
    connection: socket.socket = caller[1].get_extra_info("socket")
    with socket.socket(fileno=connection.dup().detach()) as itself:
        itself.send(REQUEST)
    draining = asyncio.create_task(house.door.drain(LONG_SECONDS))
    await hear(caller, GOODBYE)
    async with asyncio.timeout(20):
        await draining


async def test_an_answer_that_came_before_its_request_was_whole_ends_with_it(house: House, at_once: None) -> None:
    caller = await house.connected()
    await ask(caller, HELLO, b"POST /early HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n12")
    draining = asyncio.create_task(house.door.drain(LONG_SECONDS))
    await asyncio.sleep(0)
    caller[1].write(b"34")
    assert await is_hung_up(caller)
    async with asyncio.timeout(20):
        await draining


async def test_who_has_just_come_has_time_for_a_request(house: House, at_once: None) -> None:
    caller = await house.connected()
    await wait_until_async(lambda: _is_in(house.door), within_seconds=20)
    draining = asyncio.create_task(house.door.drain(LONG_SECONDS))
    await asyncio.sleep(0)
    await ask(caller, GOODBYE)
    async with asyncio.timeout(20):
        await draining


@pytest.mark.parametrize("speaks_tls", [False, True])
async def test_who_waits_in_the_kernels_queue_is_served_and_told(
    tmp_path: Path, at_once: None, speaks_tls: bool
) -> None:
    certificate = str(write_certificate(tmp_path / "certificate.pem", ["localhost"])) if speaks_tls else ""
    async with a_house(certificate) as house:
        # Past the loop, so that the front cannot have taken it.
        waiting = socket.create_connection(("127.0.0.1", house.port))
        draining = asyncio.create_task(house.door.drain(LONG_SECONDS))
        tls = ssl.create_default_context(cafile=certificate) if speaks_tls else None
        caller = await asyncio.open_connection(sock=waiting, ssl=tls, server_hostname="localhost" if tls else None)
        house.callers.append(caller)
        await ask(caller, GOODBYE)
        assert await is_hung_up(caller)
        async with asyncio.timeout(20):
            await draining


async def _is_in(door: Door) -> bool:
    return bool(door._callers)


async def test_callers_over_tls_are_let_go_as_well(tmp_path: Path, at_once: None) -> None:
    certificate = write_certificate(tmp_path / "certificate.pem", ["localhost"])
    async with a_house(str(certificate)) as house:
        house.tls = ssl.create_default_context(cafile=str(certificate))
        idle, listening = await house.kept(), await house.kept()
        await ask(listening, BEGUN, STREAM)
        draining = asyncio.create_task(house.door.drain(LONG_SECONDS))
        assert await is_hung_up(idle)
        house.gateway.may_end.set()
        await hear(listening, ENDED)
        assert await is_hung_up(listening)
        async with asyncio.timeout(20):
            await draining
